// Says in words why the page cannot start, in a browser that may not even read the rest of it. ECMAScript 5.
(() => {
  function say(why) {
    document.getElementById("app").hidden = true;
    document.getElementById("cannot").hidden = false;
    document.getElementById("why").textContent = why;
    document.documentElement.setAttribute("data-ready", "true");
  }
  window.quellCannot = say;
  var missing = [];
  if (typeof WebAssembly !== "object") missing.push("WebAssembly");
  if (typeof Worker !== "function") missing.push("web workers");
  if (typeof BigInt !== "function") missing.push("64-bit integers");
  if (typeof DecompressionStream !== "function") missing.push("DecompressionStream");
  if (missing.length) {
    say(
      "This browser has no " +
        missing.join(", no ") +
        ", without which the simulator cannot run here. Chrome 103, Firefox 113 and Safari 16.4 have all of it, unless a setting or a policy switches it off.",
    );
    return;
  }
  window.addEventListener(
    "error",
    (event) => {
      if (document.documentElement.getAttribute("data-started")) return;
      var target = event.target;
      if (target && target !== window && target.src)
        say(
          "A part of the page could not be loaded: " +
            target.src +
            ". Reload it; if that does not help, its server lacks the file.",
        );
      else if (event.message) say("The page could not start: " + event.message);
    },
    true,
  );
})();
