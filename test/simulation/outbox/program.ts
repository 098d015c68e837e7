/** The program of a seed, drawn before it starts: plain data. */

import { createSeededRandom } from '@waybill/core/internal'
import type { SimStatement, SqlFaultProfile } from '@waybill/sim/internal'
import { Draw } from '../draw.ts'
import { type ChaosEvent, drawTimes } from '../world/fault-plan.ts'
import { crowd } from './crowd.ts'
import { drawTransactions, type TransactionPlan } from './event-plan.ts'
import { drawLocks, type LockPlan } from './lock-plan.ts'
import type { Mode } from './mode.ts'
import { drawOptions, type OptionPlan } from './option-plan.ts'
import { drawRoads, type RoadPlan } from './road-plan.ts'
import { drawSizes, type SizePlan } from './size-plan.ts'

/** A fault or change injected at a set time. */
export type ChaosKind =
  | 'STOP_NODE'
  | 'KILL_NODE'
  | 'FREEZE_NODE'
  | 'CUT'
  | 'RESTART_DATABASE'
  | 'FAIL_OVER_DATABASE'
  | 'DATABASE_CLOCK_FORWARD'
  | 'DATABASE_CLOCK_BACK'
  | 'WALL_JUMP'
  | 'REPLAY'

/** A period in which the database is unavailable. */
export interface Outage {
  readonly fromMs: number
  readonly forMs: number
}

/** A fault in the process that reaches a failpoint for the n-th time. */
export interface FailpointPlan {
  readonly name: string
  readonly nth: number
  readonly kind: 'KILL' | 'FREEZE' | 'DELAY'
  readonly forMs: number
}

/** The complete program of one seed. */
export interface Program {
  /** True when only listeners fail and no process dies: then no event may be delivered twice. */
  readonly isCalm: boolean
  readonly mode: Mode
  readonly nodes: number
  readonly latencyMs: number
  /** Offset between the database's clock and that of the nodes. */
  readonly databaseSkewMs: number
  readonly options: OptionPlan
  readonly transactions: readonly TransactionPlan[]
  readonly sizes: SizePlan
  readonly chaosMs: number
  readonly faults: SqlFaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
  readonly failpoints: readonly FailpointPlan[]
  /** When all nodes freeze long enough for another mode to take over the table. Null: never. */
  readonly otherModeAtMs: number | null
  /** Whether the database reports which sequence numbers are settled: not all do. */
  readonly tellsOpenNumbers: boolean
  readonly roads: RoadPlan
  readonly locks: readonly LockPlan[]
}

/** Separates the draws of a program from those of the code it runs. */
const programStream = 0x1f83d9ab
/** Separates the draws of sizes, so that they change nothing else about a seed. */
const sizeStream = 0x5be0cd19

/** Draws the program of a seed. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed ^ programStream))
  const isCalm = draw.chance(0.25)
  const mode = draw.pick(['singleNode', 'multiNode', 'multiNode', 'keyed', 'keyed', 'leasing', 'ordered'] as const)
  const nodes = draw.pick([2, 2, 3])
  // A sole owner of a table has a lease of ten seconds: some seeds outlast it.
  const isLong = (mode === 'singleNode' || mode === 'ordered') && draw.chance(0.5)
  const chaosMs = isLong ? draw.ms(15_000, 25_000) : draw.ms(3_000, 8_000)
  const options = drawOptions(draw, mode)
  const latencyMs = draw.magnitude(0.5, 20)
  const databaseSkewMs = draw.pick([0, 0, -5_000, 5_000, 3_600_000])
  const transactions = drawTransactions(draw, { mode, isCalm, nodes, chaosMs })
  const plan = {
    isCalm,
    mode,
    nodes,
    latencyMs,
    databaseSkewMs,
    options,
    transactions,
    sizes: drawSizes(new Draw(createSeededRandom(seed ^ sizeStream)), transactions),
    chaosMs,
    faults: isCalm ? false : drawFaults(draw, options),
    outages: isCalm ? [] : drawOutages(draw, chaosMs),
    chaos: drawChaos(draw, isCalm, chaosMs),
    failpoints: isCalm ? [] : drawFailpoints(draw),
    tellsOpenNumbers: draw.chance(0.7),
    otherModeAtMs: !isCalm && draw.chance(0.1) ? draw.ms(0, chaosMs / 2) : null,
  }
  return { ...plan, ...crowd(seed, plan), roads: drawRoads(seed, plan), locks: drawLocks(seed, plan) }
}

const statements = [
  'insertNew',
  'commit',
  'lock',
  'savepoint',
  'rollbackTo',
  'findPending',
  'pollPending',
  'claimPending',
  'renew',
  'release',
  'markDone',
  'markRetry',
  'markDead',
  'statusOf',
  'takeShards',
  'renewShards',
  'releaseShards',
  'shardOwners',
  'readShards',
  'earlierRows',
  'openNumbers',
  'deadKeys',
  'replayDead',
  'purge',
] as const satisfies readonly SimStatement[]

const faultKinds = ['refused', 'cut', 'lostAnswer', 'delay'] as const

/** Draws a few kinds of fault on a few kinds of statement: all at once would always show the same history. */
function drawFaults(draw: Draw, { leaseMs }: OptionPlan): SqlFaultProfile | false {
  const kinds = draw.some(faultKinds, 0.5)
  const hit = draw.some(statements, draw.pick([0.15, 0.5]))
  if (kinds.length === 0 || hit.length === 0) return false
  const rates = Object.fromEntries(
    hit.map((statement) => [statement, Object.fromEntries(kinds.map((kind) => [kind, draw.magnitude(0.01, 0.6)]))]),
  )
  // Some responses come after the lease they report has expired.
  return { rates, maxDelayMs: draw.chance(0.3) ? 3 * leaseMs : draw.msOfMagnitude(100, 8_000) }
}

function drawOutages(draw: Draw, chaosMs: number): Outage[] {
  return Array.from({ length: draw.pick([0, 0, 1, 2]) }, () => ({
    fromMs: draw.ms(0, chaosMs),
    forMs: draw.msOfMagnitude(100, 12_000),
  }))
}

function drawChaos(draw: Draw, isCalm: boolean, chaosMs: number): ChaosEvent<ChaosKind>[] {
  const gentle = draw.some(['STOP_NODE', 'WALL_JUMP', 'REPLAY'] as const, 0.4)
  const harmful = draw.some(
    [
      'KILL_NODE',
      'FREEZE_NODE',
      'CUT',
      'RESTART_DATABASE',
      'FAIL_OVER_DATABASE',
      'DATABASE_CLOCK_FORWARD',
      'DATABASE_CLOCK_BACK',
    ] as const,
    0.3,
  )
  return drawTimes(draw, isCalm ? gentle : [...gentle, ...harmful], { most: 4, chaosMs })
}

/** Failpoints between two steps of the engine. */
const failpointNames = [
  'outbox.insert.before',
  'outbox.insert.after',
  'outbox.claim.before',
  'outbox.claim.after',
  'outbox.keyed.read.after',
  'outbox.listener.before',
  'outbox.listener.after',
  'outbox.finish.before',
  'outbox.finish.after',
] as const

function drawFailpoints(draw: Draw): FailpointPlan[] {
  return Array.from({ length: draw.pick([0, 0, 1, 2, 4]) }, () => ({
    name: draw.pick(failpointNames),
    nth: draw.integer(1, 40),
    kind: draw.pick(['KILL', 'FREEZE', 'DELAY'] as const),
    forMs: draw.msOfMagnitude(20, 12_000),
  }))
}
