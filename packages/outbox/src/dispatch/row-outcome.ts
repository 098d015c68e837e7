/** What becomes of a row after its delivery. */
export type Outcome =
  | { readonly kind: 'DONE' }
  | ({ readonly kind: 'RETRY'; readonly delayMs: number } & Failed)
  | ({ readonly kind: 'DEAD' } & Failed)

interface Failed {
  readonly error: string
  /**
   * The event itself is the reason, or nobody listens to it, or its listener asked for a later time: none of these tells
   * that what the listeners need is down.
   */
  readonly isByEvent?: true
}

/** The outcome of nearly every delivery, made once. */
export const done: Outcome = Object.freeze({ kind: 'DONE' })
