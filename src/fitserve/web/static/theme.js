// Before the first paint: the theme that was chosen here, else the system's.
(() => {
  let chosen = "";
  try { chosen = localStorage.getItem("fitserve-theme") || ""; } catch { /* storage is closed: follow the system */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
