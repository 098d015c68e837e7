/** What becomes of a row after its delivery. */
export type Outcome =
  | { readonly kind: 'DONE' }
  | { readonly kind: 'RETRY'; readonly delayMs: number; readonly error: string }
  | { readonly kind: 'DEAD'; readonly error: string }

/** The outcome of nearly every delivery, made once. */
export const done: Outcome = Object.freeze({ kind: 'DONE' })
