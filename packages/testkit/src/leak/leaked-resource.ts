/** What can be left behind. */
export const leakKinds = ['TIMER', 'SOCKET', 'SERVER', 'PROCESS', 'WORKER', 'WATCHER', 'SERVICE', 'LISTENER'] as const

/** A kind of thing that can be left behind. WATCHER is a file watcher. */
export type LeakKind = (typeof leakKinds)[number]

/** One thing that was left behind. */
export interface LeakedResource {
  readonly kind: LeakKind
  /** What it is, in words: "a timer", "the service orders-outbox, RUNNING". */
  readonly what: string
  /** The call that made it, as a stack trace names it. */
  readonly where?: string
}
