// Buttons of which one is pressed.

export function Segments({ label, choices }: { label: string; choices: readonly (readonly [text: string, chosen: boolean, choose: () => void, title?: string])[] }) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([text, chosen, choose, title]) => (
        <button key={text} aria-pressed={chosen} title={title} onClick={choose}>
          {text}
        </button>
      ))}
    </div>
  );
}
