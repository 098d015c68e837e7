/**
 * An operator: pauses the binding of a process for a while, and moves positions. For a move the binding stops in every
 * process but one, where it is paused. A member that joins the group meanwhile makes the cluster refuse it, which is
 * correct.
 */

import type { PositionAnswer, PositionTarget } from '@waybill/connector/internal'
import type { PartitionBook } from './partition-book.ts'
import { sourceTopic, tierTopic } from './program.ts'
import { bindingName, type Transformer } from './transformer.ts'
import type { World } from './world.ts'

/** The kinds of moves. */
export type Move = 'SEEK' | 'SKIP' | 'RESET'

const alice = { by: 'alice', reason: 'simulated' }

/** See the file's comment. */
export class Operator {
  readonly #world: World
  readonly #paused = new Set<Transformer>()
  #isMoving = false

  constructor(world: World) {
    this.#world = world
  }

  /** Describes an operation in progress. */
  get obstacle(): string | undefined {
    return this.#isMoving || this.#paused.size > 0 ? 'an operator is at work' : undefined
  }

  async pause(transformer: Transformer, forMs: number): Promise<void> {
    if (!transformer.isStarted || this.#paused.has(transformer)) return
    this.#paused.add(transformer)
    await transformer.pause()
    await this.#world.runtime.timers.sleep(forMs)
    await transformer.resume()
    this.#paused.delete(transformer)
  }

  async move(move: Move, transformers: readonly Transformer[]): Promise<void> {
    const { court, draw, program, runtime } = this.#world
    const started = transformers.filter(({ isStarted }) => isStarted)
    if (started.length === 0 || this.#isMoving) return
    this.#isMoving = true
    const desk = draw.pick(started)
    const staysPaused = draw.chance(0.7)
    const away = started.map((one) => (one === desk && staysPaused ? one.pause() : one.leaveGroups()))
    // A member that does not respond is considered dead once its session expires.
    const isEverybodyAway = await Promise.race([
      Promise.all(away).then(() => true),
      runtime.timers.sleep(program.sessionTimeoutMs + draw.ms(0, 2_000)).then(() => false),
    ])
    const tier = draw.pick([0, 0, 1])
    const book = draw.pick(this.#world.booksOf(tier === 0 ? sourceTopic : tierTopic))
    const answer = await desk.ask(() => this.#command(move, desk, tier, book))
    if (answer === undefined) court.reach('move: it is refused')
    else if (staysPaused) court.reach('move: of a paused binding')
    if (answer !== undefined && isEverybodyAway) book.moveIsKnown()
    // The operator reviews the result before the binding resumes.
    await runtime.timers.sleep(draw.pick([0, draw.ms(0, 3_000)]))
    await Promise.all(started.map((one) => one.comeBack()))
    this.#isMoving = false
  }

  async #command(
    move: Move,
    { connector }: Transformer,
    tier: number,
    book: PartitionBook,
  ): Promise<PositionAnswer | undefined> {
    const { draw, court } = this.#world
    const { partition, end } = book.journal
    court.note('operator', () => `${move} of ${book.place}`)
    switch (move) {
      case 'SKIP':
        return connector.admin.skip(bindingName, { partition, offsets: this.#ahead(book), tier }, alice)
      case 'RESET':
        return connector.admin.reset(bindingName, { to: draw.pick(['EARLIEST', 'LATEST']), tier }, alice)
      case 'SEEK': {
        const to: PositionTarget = draw.chance(0.8) ? { offset: BigInt(draw.integer(0, Number(end))) } : 'EARLIEST'
        return connector.admin.seek(bindingName, { to, partitions: [partition], tier }, alice)
      }
    }
  }

  /** Returns offsets near the next position: a record with an outcome cannot be skipped. */
  #ahead({ position = 0n, journal }: PartitionBook): bigint[] {
    const { draw } = this.#world
    const room = Number(journal.end - position)
    const first = position + BigInt(draw.integer(0, Math.max(0, Math.min(room - 1, 5))))
    return draw.chance(0.5) ? [first] : [first, first + 1n]
  }
}
