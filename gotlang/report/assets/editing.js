// A run again, from the page of one: the whole of it, or from an operation whose prompt was edited.

const RESTS = "Only calls that depend on this prompt are made again; all others come from the cache.";
const SIMULATED = "Simulated: the simulator sees the inputs of a prompt, not its text. No real model is called.";

// A form with what may be spent; `send` gets the limits.
function limits(words, send) {
  const form = make("form", null, "edit"), line = make("div"), usd = make("input"), calls = make("input"), run = make("button", "Run");
  for (const [field, name, value, step] of [[usd, "dollars", "0.10", "any"], [calls, "calls", "200", "1"]]) {
    field.type = "number"; field.min = "0"; field.step = step; field.value = value; field.name = name; field.placeholder = "no limit"; field.setAttribute("aria-label", `maximum ${name}`);
  }
  run.type = "submit";
  line.append("at most $", usd, " and ", calls, " calls ", run);
  form.append(make("p", words, "soft"), line);
  if (doc.simulated) form.append(make("p", SIMULATED, "note"));
  const number = (field) => field.value === "" ? null : Number(field.value);
  form.onsubmit = async (event) => {
    event.preventDefault();
    run.disabled = true;
    const found = await send({ max_usd: number(usd), max_calls: number(calls) });
    run.disabled = false;
    if (found) location.href = found.address;
  };
  return form;
}

// Below the prompt of an operation in the panel.
function editing(panel, operation, request) {
  const button = make("button", "Edit the prompt and run again from here");
  button.type = "button";
  panel.append(button);
  button.onclick = () => {
    const fields = request.messages.map(([role, text]) => {
      const label = make("label", role), field = make("textarea");
      field.value = text; field.spellcheck = false;
      label.append(field);
      return [label, field];
    });
    const form = limits(RESTS, (given) => ask(`${doc.path}/again`, { limits: given, edit: { operation, key: request.key, messages: fields.map(([, field]) => field.value) } }));
    form.prepend(...fields.map(([label]) => label));
    button.replaceWith(form);
    fields[fields.length - 1][1].focus();
  };
}
