// The page: what is where. Each part is a file of its own.
import { begin, newChat } from "./chats.js";
import { Composer } from "./composer.js";
import { Drawer } from "./drawer.js";
import { restoreDraft } from "./draft.js";
import { DropZone } from "./drop.js";
import { Header } from "./header.js";
import { Help } from "./help.js";
import { listenToKeys } from "./keys.js";
import { Messages } from "./messages.js";
import { EngineState } from "./owner_engine.js";
import { Strip } from "./owner_strip.js";
import { store, useStore } from "./store.js";
import { t } from "./texts.js";
import { restore } from "./tray_store.js";
import { html, render, useEffect, useState } from "./view.js";

function Page() {
  const state = useStore();
  const owner = state.place.name === "owner";
  return html`
    <a class="skip" href="#question" onClick=${toQuestion}>${t("page.skip")}</a>
    <${Drawer} state=${state} />
    <div class="column">
      <${Header} state=${state} />
      <${Strip} status=${state.status} />
      <main id="main">
        ${owner ? html`<${Owner} status=${state.status} />` : html`<${Talk} state=${state} />`}
      </main>
    </div>
    <${DropZone} />
    <${Help} />
    <div class="unseen" role="status" aria-live="polite">${state.announced}</div>`;
}

const Talk = ({ state }) => html`
  <${Messages} state=${state} />
  <div class="foot">
    <${EngineState} status=${state.status} />
    <${Composer} state=${state} />
  </div>`;

// The owner's part is fetched when it is asked for.
function Owner({ status }) {
  const [Tab, setTab] = useState(null);
  useEffect(() => { import("./owner_tab.js").then(({ OwnerTab }) => setTab(() => OwnerTab)); }, []);
  return Tab && html`<${Tab} status=${status} />`;
}

function toQuestion(event) {
  event.preventDefault();
  if (store.state.place.name === "owner") newChat();
  queueMicrotask(() => document.getElementById("question")?.focus());
}

restore();
restoreDraft();
begin();
listenToKeys();
const root = document.getElementById("app");
root.replaceChildren(); // what stood there until the scripts came
render(html`<${Page} />`, root);
