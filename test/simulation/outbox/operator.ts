/** An operator who replays DEAD events from a process of its own. */

import { applicationOperator } from '@waybill/core'
import { createDeadEvents, type DeadEvents } from '@waybill/outbox'
import type { World } from './world.ts'

/** See the file's comment. */
export class Operator {
  readonly #dead: DeadEvents
  #isReplaying = false

  constructor({ server, runtime }: World) {
    this.#dead = createDeadEvents({
      database: server.database({ name: 'operator', receive: (work) => work }),
      store: server.store,
      administration: { auditLog: { write: () => {} } },
      runtime,
    })
  }

  /** Replays all dead events, unless a replay is already running. */
  async replayAll(): Promise<void> {
    if (this.#isReplaying) return
    this.#isReplaying = true
    await this.#dead.replayAll({ batchSize: 7 }, applicationOperator('the simulation'))
    this.#isReplaying = false
  }
}
