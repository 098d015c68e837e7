/** An operator: pauses and resumes, replays and releases dead records, resumes partitions that wait for a decision. */

import { Buffer } from 'node:buffer'
import { BindingNotFoundError, InvalidContainerStateError } from '@waybill/connector'
import type { Station } from '../world/cluster-world.ts'
import type { BindingPlan } from './binding-plan.ts'
import type { ConnectorProcess } from './connector-process.ts'
import type { Fate, Original } from './evidence.ts'
import { isKeyed, waitingTopicOf } from './places.ts'
import type { LogRecord } from './topic-log.ts'
import type { World } from './world.ts'

/** See the file's comment. */
export class Operator {
  readonly #world: World
  readonly #station: Station
  #producer: ReturnType<Station['client']['producer']> | undefined

  constructor(world: World) {
    this.#world = world
    this.#station = world.station('operator')
  }

  /** Sets the initial offsets of groups that require them. */
  async setOffsets(): Promise<void> {
    const { program } = this.#world
    for (const { groupId, options, topics } of program.bindings) {
      if (options.startFrom !== 'ERROR') continue
      const partitions = Array.from({ length: program.partitions }, (_, partition) => partition)
      await this.#station.client.admin.alterGroupOffsets(
        groupId,
        topics.flatMap((topic) => partitions.map((partition) => ({ topic, partition, offset: 0n }))),
      )
    }
  }

  /** Acknowledges the losses of a process. */
  acknowledgeLosses(process: ConnectorProcess): void {
    const { court, program } = this.#world
    for (const { name } of program.bindings)
      if (process.has(name))
        process.connector.acknowledgeLoss(name, { by: 'operator' }).catch((error: unknown) => {
          court.violate('I21', `${name}: losses not acknowledged: ${String(error)}`)
        })
  }

  /** Pauses a binding of a process for a while. */
  async pause(process: ConnectorProcess, binding: BindingPlan, forMs: number): Promise<void> {
    const { court, journal, runtime } = this.#world
    if (!process.isStarted || process.paused.has(binding.name) || !process.has(binding.name)) return
    try {
      await process.connector.pause(binding.name)
    } catch (error) {
      if (isOutOfPlace(error)) return // It is already paused, stopped or removed.
      throw error
    }
    if ([...journal.running].some((call) => call.process === process))
      court.reach('pause: an operator pauses while handlers run')
    process.paused.set(binding.name, this.#world.now())
    await runtime.timers.sleep(forMs)
    await this.resume(process, binding)
  }

  /** Ends a pause, and retries what waits for an operator. */
  async resume(process: ConnectorProcess, { name }: BindingPlan): Promise<void> {
    process.paused.delete(name)
    if (!process.isStarted || !process.has(name)) return
    try {
      await process.connector.resume(name)
    } catch (error) {
      if (!isOutOfPlace(error)) throw error
    }
  }

  /** Writes a replay or a release for an original, often before its outcome is known. */
  ask(kind: 'REPLAY' | 'RELEASE'): void {
    const { draw, program, evidence } = this.#world
    const keyed = program.bindings.filter(isKeyed)
    if (keyed.length === 0) return
    const binding = draw.pick(keyed)
    const originals = [...evidence.originals.values()]
    const dead = originals.filter(({ plan }) => evidence.fate(plan.id, binding).deadLetters.length > 0)
    const among = dead.length > 0 && draw.chance(0.8) ? dead : originals
    if (among.length > 0) this.#write(kind, draw.pick(among), binding)
  }

  /** Releases every key that is blocked by a dead record and not released yet. */
  releaseAll(): void {
    const { program, evidence, court } = this.#world
    for (const binding of program.bindings) {
      if (binding.options.keyOrder?.onDeadKey !== 'BLOCK') continue
      for (const original of evidence.originals.values()) {
        const fate = evidence.fate(original.plan.id, binding)
        if (fate.deadLetters.length === 0 || isReleased(fate)) continue
        court.reach('waiting: a release frees its key')
        this.#write('RELEASE', original, binding)
      }
    }
  }

  async close(): Promise<void> {
    await this.#station.client.close()
  }

  #write(kind: 'REPLAY' | 'RELEASE', { record }: Original, binding: BindingPlan): void {
    const { evidence, court } = this.#world
    const fate = evidence.originalIn(record)?.fates.get(binding.groupId)
    if (fate === undefined) return
    const counts = [0, ...fate.replays, ...fate.deadLetters.map(({ replayCount }) => replayCount)]
    const count = kind === 'REPLAY' ? Math.max(...counts) + 1 : Math.max(...counts)
    const name = `${record.partition}@${record.offset}`
    court.note('operator', () => `${kind} ${count} of ${name} for ${binding.name}`)
    const own = kind === 'REPLAY' ? record.headers.filter(([header]) => !header.startsWith('x-eventbus-')) : []
    this.#producer ??= this.#station.client.producer('EVENT', { lingerMs: 0, requestTimeoutMs: 1_000 })
    this.#producer
      .send({
        topic: waitingTopicOf(record.topic, binding),
        partition: record.partition,
        key: record.key,
        value: kind === 'REPLAY' ? record.value : null,
        headers: [...own, ...aboutHeaders(kind, record, binding, count)],
      })
      .catch((error: unknown) => court.note('operator', () => String(error)))
  }
}

/**
 * Returns true when every death of a record has its release. A repeated record dies again, and blocks its key again.
 */
function isReleased({ deadLetters, releases, releasedAt, hops, isRepeated }: Fate): boolean {
  const died = Math.max(...deadLetters.map(({ replayCount }) => replayCount))
  const isLast = releases.some((count) => count >= died)
  const marker = hops.findLast(({ waitingKind }) => waitingKind === 'MARKER')
  return isLast && (!isRepeated || releasedAt > (marker?.record.offset ?? -1n))
}

function isOutOfPlace(error: unknown): boolean {
  return error instanceof InvalidContainerStateError || error instanceof BindingNotFoundError
}

function aboutHeaders(
  kind: string,
  { topic, partition, offset, timestamp }: LogRecord,
  { groupId }: BindingPlan,
  count: number,
): (readonly [string, Buffer])[] {
  const texts: (readonly [string, string])[] = [
    ['x-eventbus-original-topic', topic],
    ['x-eventbus-original-partition', `${partition}`],
    ['x-eventbus-original-offset', `${offset}`],
    ['x-eventbus-original-timestamp', `${timestamp}`],
    ['x-eventbus-consumer-group', groupId],
    ...(count > 0 ? [['x-eventbus-replay-count', `${count}`] as const] : []),
    ['x-eventbus-waiting-kind', kind],
  ]
  return texts.map(([name, text]) => [name, Buffer.from(text)])
}
