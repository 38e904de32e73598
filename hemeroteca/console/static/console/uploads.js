// Sends files of captures in parts; after a break it asks how much has come and goes on there.
(function () {
  "use strict";
  var form = document.querySelector("form[data-upload]");
  if (!form || !window.fetch) return;
  var list = form.querySelector("ol"), pause = form.querySelector("[data-pause]"), paused = false, resume = null;
  var token = form.querySelector("[name=csrfmiddlewaretoken]").value;

  function ask(address, body, type) {
    var headers = { "X-CSRFToken": token, Accept: "application/json" };
    if (type) headers["Content-Type"] = type;
    return fetch(address, { method: "POST", body: body, headers: headers, credentials: "same-origin" }).then(function (answer) {
      return answer.json().then(function (told) {
        if (answer.ok) return told;
        var error = new Error(told.detail || answer.statusText);
        error.status = answer.status;
        error.code = told.code;
        throw error;
      });
    });
  }

  function announce(file) {
    return ask(form.action, new URLSearchParams({ name: file.name, size: file.size }));
  }

  function line(file) {
    var entry = document.createElement("li"), bar = document.createElement("progress"), text = document.createElement("span");
    entry.append(file.name + " ", bar, " ", text);
    bar.max = file.size;
    bar.value = 0;
    bar.setAttribute("aria-label", file.name);
    list.append(entry);
    return { bar: bar, text: text };
  }

  function wait(seconds) { return new Promise(function (done) { setTimeout(done, seconds * 1000); }); }

  function free() { return paused ? new Promise(function (done) { resume = done; }) : Promise.resolve(); }

  async function send(file) {
    var shown = line(file), told = await announce(file), tries = 0;
    while (!told.job) {
      shown.bar.value = told.received;
      shown.text.textContent = Math.floor(100 * told.received / file.size) + " %";
      await free();
      try {
        var part = file.slice(told.received, told.received + told.part);
        told = await ask(form.action + "/" + told.id + "?offset=" + told.received, part, "application/octet-stream");
        tries = 0;
      } catch (error) {
        if (error.status && error.code !== "wrong-offset" && error.status < 500) throw error;
        tries += 1;
        if (tries > 12) throw error;
        shown.text.textContent = form.dataset.broken;
        await wait(Math.min(30, Math.pow(2, tries) / 4));
        try { told = await announce(file); } catch (again) { if (again.status && again.status < 500) throw again; }
      }
    }
    shown.bar.value = file.size;
    shown.text.textContent = form.dataset.done;
    return told.job;
  }

  pause.addEventListener("click", function () {
    paused = !paused;
    pause.setAttribute("aria-pressed", paused);
    if (!paused && resume) { resume(); resume = null; }
  });

  form.addEventListener("submit", async function (event) {
    event.preventDefault();
    var button = form.querySelector("button"), files = Array.from(form.querySelector("[type=file]").files), job = 0;
    button.disabled = true;
    pause.hidden = false;
    list.textContent = "";
    for (var file of files) {
      try {
        job = await send(file);
      } catch (error) {
        var failure = document.createElement("li");
        failure.className = "message error";
        failure.setAttribute("role", "alert");
        failure.textContent = file.name + ": " + error.message;
        list.append(failure);
      }
    }
    button.disabled = false;
    pause.hidden = true;
    if (job && !list.querySelector(".error")) location.href = files.length > 1 ? location.href : form.dataset.jobs + job;
  });
})();
