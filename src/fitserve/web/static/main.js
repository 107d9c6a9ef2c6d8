document.getElementById("app").textContent = "fitserve";
