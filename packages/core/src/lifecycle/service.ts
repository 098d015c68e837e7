/**
 * How everything that starts and stops behaves: outbox, connector, admin server, and the supervisor over them. Written
 * down once, so that a caller need not know which kind of service it holds.
 *
 *              start()               ok
 *    CREATED ──────────▶ STARTING ──────────▶ RUNNING
 *       │                   │ │ start fails      │
 *       │ stop()     stop() │ │ by itself        │ stop()
 *       │                   ▼ ▼                  │
 *       │                  STOPPING ◀────────────┘
 *       │                   │    │
 *       │    all released,  │    │  start had failed, something could not be released,
 *       ▼    no failure     │    │  or the deadline passed
 *    STOPPED ◀──────────────┘    └──▶ FAILED
 *
 * - A service runs once. STOPPED and FAILED are final, and start() is then refused: another run needs
 *   another service, which costs nothing since factories do no IO. What can be started again and again inside a running
 *   service (a binding, say) has a state of its own.
 * - start() while STARTING or RUNNING answers the first call's promise.
 * - A start that fails releases what it had opened before its promise rejects with the original error.
 * - stop() before start() does no IO: there is nothing to release. From then on the service is STOPPED.
 * - stop() while STARTING cancels the start, waits until it has ended, and releases what it had opened. The start()
 *   that was under way rejects: with what it threw, or else saying that it was stopped.
 * - stop() again answers as the first call does, during the stop and for ever after. A `deadlineMs` given with a
 *   later call can bring the deadline forward (a second Ctrl-C), never push it back.
 * - The deadline is kept: at the latest then the promise of stop() settles. It resolves only when nothing runs any
 *   more (I18); otherwise it rejects with an error that names what still does. That error is no licence to go on
 *   using what the service used: what it names may still touch it.
 * - RUNNING says that start() succeeded and stop() was not called. Whether the work makes progress is for health.
 */

import type { ServiceState } from '../telemetry/events.ts'

/** How to stop. */
export interface StopOptions {
  /**
   * The time after which stop() waits no longer. 0 ends everything that can be ended at once.
   *
   * @defaultValue 30,000
   */
  readonly deadlineMs?: number
}

/** Something that starts and stops. Disposing stops it with the default deadline. */
export interface Service extends AsyncDisposable {
  readonly state: ServiceState
  start(): Promise<void>
  stop(options?: StopOptions): Promise<void>
}
