/** The kinds of resources that can leak. */
export const leakKinds = ['TIMER', 'SOCKET', 'SERVER', 'PROCESS', 'WORKER', 'WATCHER', 'SERVICE', 'LISTENER'] as const

/** A kind of resource that can leak. WATCHER is a file watcher. */
export type LeakKind = (typeof leakKinds)[number]

/** A resource that was left open. */
export interface LeakedResource {
  readonly kind: LeakKind
  /** Description: "a timer", "the service orders-outbox, RUNNING". */
  readonly what: string
  /** The call that created it, as a stack frame. */
  readonly where?: string
}
