/** The outcome of a row's delivery. */
export type Outcome =
  | { readonly kind: 'DONE' }
  | ({ readonly kind: 'RETRY'; readonly delayMs: number } & Failed)
  | ({ readonly kind: 'DEAD' } & Failed)

interface Failed {
  readonly error: string
  /**
   * Set if the failure says nothing about the health of the listener's dependencies: the event itself is the reason, it
   * has no listener, or its listener asked for a later time.
   */
  readonly isByEvent?: true
}

/** The outcome of nearly every delivery, created once. */
export const done: Outcome = Object.freeze({ kind: 'DONE' })
