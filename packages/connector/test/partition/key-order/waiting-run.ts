/** One seeded run: owners that come, stop, die and outlive their partition, faults of every kind, and operators. */

import { createSeededRandom } from '@waybill/core/internal'
import { errorCode } from '@waybill/kafka/wire'
import type { FaultProfile } from '@waybill/sim'
import type { Binding } from '../../../src/api/binding.ts'
import { originalId } from '../../../src/partition/key-order/original.ts'
import type { WaitingOwner } from './waiting-owner.ts'
import { place } from './waiting-place.ts'
import { type WaitingWorld, waitingWorld } from './waiting-world.ts'

const profiles: readonly (FaultProfile | false)[] = [
  false,
  { rates: { '*': { error: 0.02, lostResponse: 0.03, deadConnection: 0.02, delay: 0.05 } }, maxDelayMs: 300 },
  { rates: { Produce: { error: 0.2, lateError: 0.1, lostResponse: 0.25, delay: 0.2 } }, maxDelayMs: 9_000 },
  { rates: { OffsetCommit: { error: 0.2, lateError: 0.1, lostResponse: 0.2, delay: 0.2 } }, maxDelayMs: 5_000 },
  {
    rates: { InitProducerId: { error: 0.3, lostResponse: 0.3 }, Produce: { lostResponse: 0.2, delay: 0.2 } },
    maxDelayMs: 20_000,
  },
  {
    rates: { Fetch: { error: 0.1, lostResponse: 0.1, delay: 0.2 }, Heartbeat: { lostResponse: 0.1 } },
    maxDelayMs: 3_000,
  },
]

type Random = () => number

const pick = <T>(random: Random, of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
const upTo = (random: Random, most: number): number => Math.floor(random() * most)

interface Counts {
  kills: number
  zombies: number
  replays: number
  releases: number
}

/** What happened in a run. */
export interface RunResult extends Readonly<Counts> {
  readonly broken: readonly string[]
  readonly held: number
  readonly markers: number
  readonly fences: number
}

/** Runs one seed to its end and answers all that was broken. */
export async function simulateWaiting(seed: number): Promise<RunResult> {
  const random = createSeededRandom(seed)
  const counts: Counts = { kills: 0, zombies: 0, replays: 0, releases: 0 }
  const ended = await waitingWorld(
    async (world) => {
      world.handlerMs = () => pick(random, [0, 1, 20, 400])
      await world.owner()
      for (let step = 0, steps = 6 + upTo(random, 14); step < steps; step++) await disturb(world, random, counts)
      world.faults = false
      await settle(world, counts)
      world.history.checkEnd()
    },
    { seed, brokers: 1 + (seed % 3), binding: drawBinding(random) },
  )
  for (const owner of ended.owners)
    for (const trouble of [...owner.failures, ...owner.problems])
      ended.history.broken.push(`FAILED: ${owner.name}: ${String(trouble)}`)
  const kinds = ended.waiting().map(({ kind }) => kind)
  const count = (kind: string): number => kinds.filter((one) => one === kind).length
  return {
    broken: ended.history.broken,
    ...counts,
    held: count('HELD'),
    markers: count('MARKER'),
    fences: count('FENCE'),
  }
}

function drawBinding(random: Random): Partial<Binding> {
  // Drawn in this order: recorded seeds depend on it.
  const onDeadKey = random() < 0.5 ? 'RELEASE' : 'BLOCK'
  const [maxInFlight, maxAhead, maxWaitingRecords] = [1 + upTo(random, 3), 2 + upTo(random, 6), 2 + upTo(random, 4)]
  return {
    maxInFlight,
    maxAhead,
    keyOrder: { onDeadKey, maxWaitingRecords },
    maxBufferedRecords: 1 + upTo(random, 20),
    retry: { tiers: [{ delayMs: pick(random, [1, 500, 4_000]), maxAttempts: 1 + upTo(random, 2) }] },
  }
}

async function disturb(world: WaitingWorld, random: Random, counts: Counts): Promise<void> {
  const draw = random()
  const alive = world.owners.filter((owner) => owner.isAlive)
  if (draw < 0.35) await writeSome(world, random)
  else if (draw < 0.42) world.faults = pick(random, profiles)
  else if (draw < 0.5) refuse(world, random)
  else if (draw < 0.62) {
    counts.kills++
    world.current?.kill()
    // Operators are fast: the next owner may not know yet what became of the record.
    while (random() < 0.5) await operate(world, random, counts)
  } else if (draw < 0.7) await pick(random, alive)?.stop()
  else if (draw < 0.8) {
    counts.zombies++
    await freeze(world, world.current, random)
  } else if (draw < 0.85) world.current?.expel()
  else await operate(world, random, counts)
  if (!world.owners.some((owner) => owner.isAlive) || (alive.length < 3 && random() < 0.2)) await world.owner()
  await world.runtime.timers.sleep(pick(random, [0, 5, 300, 4_000, 15_000]))
}

async function writeSome(world: WaitingWorld, random: Random): Promise<void> {
  if (world.history.records.length > 25) return
  const failures = (): string => (random() < 0.45 ? '0' : random() < 0.25 ? 'x' : `${1 + upTo(random, 4)}`)
  const records = Array.from(
    { length: 1 + upTo(random, 5) },
    () => `${pick(random, ['a', 'b', 'c', '-'])}/${failures()}`,
  )
  await world.write(...records)
}

/** The next writes are refused for what they are: trying again at once does not help. */
function refuse(world: WaitingWorld, random: Random): void {
  for (let left = 1 + upTo(random, 3); left > 0; left--)
    world.sim.failNext('Produce', errorCode.TOPIC_AUTHORIZATION_FAILED)
}

/** Its requests stand still for longer than its session; then all of them arrive. */
async function freeze(world: WaitingWorld, owner: WaitingOwner | undefined, random: Random): Promise<void> {
  if (owner === undefined) return
  if (world.owners.filter((other) => other.isAlive && other !== owner).length === 0) await world.owner()
  const stalled = world.sim.stall({ client: owner.name, ...(random() < 0.5 ? {} : { api: 'Heartbeat' as const }) })
  await world.runtime.timers.sleep(pick(random, [2_000, 12_000, 40_000]))
  stalled[Symbol.dispose]()
}

async function operate(
  world: WaitingWorld,
  random: Random,
  counts: { replays: number; releases: number },
): Promise<void> {
  const letters = world.deadLetters()
  if (letters.length === 0) return
  const { original, replayCount } = pick(random, letters)
  if (random() < 0.5 && replayCount === 0 && !world.history.replayed.has(Number(original.offset))) {
    counts.replays++
    const record = world.history.records[Number(original.offset)]
    if (record !== undefined && random() < 0.7) record.failuresLeft = 0
    await world.replay(original, 1)
    if (random() < 0.2) await world.replay(original, 1)
  } else if (world.binding.onDeadKey === 'BLOCK') {
    counts.releases++
    await world.release(original, replayCount)
  }
}

/** After the last fault everything drains (L1). */
async function settle(world: WaitingWorld, counts: { releases: number }): Promise<void> {
  if (!world.owners.some((owner) => owner.isAlive)) await world.owner()
  const released = new Set<string>()
  for (let round = 0; round < 200 && !isDrained(world); round++) {
    await world.runtime.timers.sleep(5_000)
    if (world.binding.onDeadKey === 'RELEASE') continue
    for (const { original, replayCount } of world.deadLetters()) {
      const id = `${originalId(original)}/${replayCount}`
      if (released.has(id)) continue
      released.add(id)
      counts.releases++
      await world.release(original, replayCount)
    }
  }
  if (isDrained(world)) return
  const commit = world.lastCommit
  world.history.broken.push(
    `L1: source ${commit?.source.position}/${world.history.records.length}, waiting ${commit?.waiting?.position}/${world.sim.partition(place.waiting.topic, 0).highWatermark}`,
  )
}

function isDrained(world: WaitingWorld): boolean {
  return world.isAtRest() || (world.history.records.length === 0 && world.lastCommit !== undefined)
}
