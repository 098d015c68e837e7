/** A person who replays what is DEAD, from a process of its own. */

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
      runtime,
    })
  }

  /** Replays all that is dead now, unless it is at it. */
  async replayAll(): Promise<void> {
    if (this.#isReplaying) return
    this.#isReplaying = true
    await this.#dead.replayAll({ batchSize: 7 })
    this.#isReplaying = false
  }
}
