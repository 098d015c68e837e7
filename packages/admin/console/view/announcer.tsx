import { signal } from '@preact/signals'
import type { JSX } from 'preact'

const said = signal('')

/** Says something to screen readers, once. Figures are never said. */
export function announce(text: string): void {
  // The same text again is a change, too.
  said.value = said.peek() === text ? `${text}\u00a0` : text
}

/** The region that is read aloud. */
export function Announcer(): JSX.Element {
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {said.value}
    </div>
  )
}
