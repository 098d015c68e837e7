/**
 * The legal combinations of failure settings. The validator reads this table, and the reference page is generated from
 * it, so that they cannot disagree.
 */

import type { Report } from '@waybill/core/option'
import type {
  BatchFailureStrategy,
  BudgetExceededRouting,
  FailureProfile,
  OnDeadKey,
  OrderingMode,
  StrictExhaustion,
} from '../api/binding.ts'

/** Whether a binding has retry tiers. */
export type TierPresence = 'NONE' | 'SOME'

/** The failure settings of one binding. */
export interface FailureSettings {
  readonly failureProfile: FailureProfile
  readonly orderingMode: OrderingMode
  readonly tiers: TierPresence
  readonly strictExhaustion: StrictExhaustion
  readonly budgetExceededRouting: BudgetExceededRouting
  readonly onDeadKey: OnDeadKey
  readonly batchFailureStrategy: BatchFailureStrategy
}

/** One row of the table: any value of each list is legal. */
export interface LegalCombination extends Pick<FailureSettings, 'failureProfile' | 'orderingMode' | 'tiers'> {
  readonly strictExhaustion: readonly StrictExhaustion[]
  readonly budgetExceededRouting: readonly BudgetExceededRouting[]
  readonly onDeadKey: readonly OnDeadKey[]
  readonly batchFailureStrategy: readonly BatchFailureStrategy[]
  /** The handling of a record whose tier 0 is exhausted. */
  readonly becomes: string
}

const noChoice = {
  strictExhaustion: ['DLT'],
  budgetExceededRouting: ['DLT'],
  onDeadKey: ['RELEASE'],
  batchFailureStrategy: ['SEEK_TO_FAILED'],
} as const

/** All legal combinations. Any other is rejected. */
export const legalCombinations: readonly LegalCombination[] = Object.freeze([
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'RELAXED_IN_RETRY',
    tiers: 'SOME',
    budgetExceededRouting: ['DLT', 'NEXT_TIER'],
    batchFailureStrategy: ['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'],
    becomes: 'goes through the tiers while later records overtake it, then to the dead letters',
  },
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'RELAXED_IN_RETRY',
    tiers: 'NONE',
    batchFailureStrategy: ['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE'],
    becomes: 'goes to the dead letters',
  },
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'STRICT',
    tiers: 'NONE',
    strictExhaustion: ['DLT', 'PAUSE_PARTITION'],
    becomes: 'goes to the dead letters, or its partition is paused until an operator resumes it',
  },
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'KEY',
    tiers: 'SOME',
    budgetExceededRouting: ['DLT', 'NEXT_TIER'],
    onDeadKey: ['RELEASE', 'BLOCK'],
    becomes: 'goes through the tiers in the waiting topic, with later records of its key, then to the dead letters',
  },
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'KEY',
    tiers: 'NONE',
    onDeadKey: ['RELEASE', 'BLOCK'],
    becomes: 'goes to the dead letters; later records of its key continue, or wait in the waiting topic',
  },
  ...(['RELAXED_IN_RETRY', 'STRICT'] as const).map((orderingMode) => ({
    ...noChoice,
    failureProfile: 'BEST_EFFORT_SKIP' as const,
    orderingMode,
    tiers: 'NONE' as const,
    becomes: 'is skipped and counted; only non-retryable records go to the dead letters',
  })),
  ...(['RELAXED_IN_RETRY', 'STRICT'] as const).map((orderingMode) => ({
    ...noChoice,
    failureProfile: 'BLOCKING_UNLIMITED' as const,
    orderingMode,
    tiers: 'NONE' as const,
    becomes: 'is retried until it succeeds, its lane waits; only non-retryable records go to the dead letters',
  })),
])

/** The reasons of rejections, by the path of the option. */
export const refusalReasons: Readonly<
  Record<
    | 'orderingMode'
    | 'retry.tiers'
    | 'strictExhaustion'
    | 'budgetExceededRouting'
    | 'keyOrder.onDeadKey'
    | 'batchFailureStrategy',
    string
  >
> = {
  orderingMode:
    'KEY holds records back while one of their key is in a tier, and only TIERED has tiers; ' +
    'with the other profiles parallelism: KEY alone keeps the order of each key',
  'retry.tiers':
    'later records overtake a record in a tier, which STRICT forbids; BEST_EFFORT_SKIP and ' +
    'BLOCKING_UNLIMITED have no tiers',
  strictExhaustion: 'only STRICT with TIERED can pause the partition of an exhausted record',
  budgetExceededRouting: 'there is no next tier',
  'keyOrder.onDeadKey': 'only KEY can hold records back behind a dead one',
  batchFailureStrategy:
    'a batch can continue without a record only if others may overtake it, and use a tier only if there is one; ' +
    'with STRICT, batchMaxRedeliveries: 1 dead-letters a record after its first failure',
}

/** Returns whether the three default tiers apply if a binding configures none. */
export function hasTiersByDefault({
  failureProfile,
  orderingMode,
}: Pick<FailureSettings, 'failureProfile' | 'orderingMode'>): boolean {
  return rowsOf({ failureProfile, orderingMode }).some(({ tiers }) => tiers === 'SOME')
}

/** Reports every setting that is illegal in combination with the others. */
export function checkCombination(settings: FailureSettings, report: Report): void {
  const rows = rowsOf(settings)
  const [first] = rows
  const { failureProfile, orderingMode, tiers } = settings
  if (first === undefined) {
    report('orderingMode', `${orderingMode} does not go with ${failureProfile}: ${refusalReasons.orderingMode}`)
    return
  }
  const row = rows.find((one) => one.tiers === tiers)
  if (row === undefined)
    report('retry.tiers', `must be left out or empty with ${contextOf(settings)}: ${refusalReasons['retry.tiers']}`)
  checkChoices(settings, row ?? first, report)
}

/** Settings that a row restricts, each with the path of its option. */
const choices = [
  ['strictExhaustion', 'strictExhaustion'],
  ['budgetExceededRouting', 'budgetExceededRouting'],
  ['onDeadKey', 'keyOrder.onDeadKey'],
  ['batchFailureStrategy', 'batchFailureStrategy'],
] as const

function checkChoices(settings: FailureSettings, row: LegalCombination, report: Report): void {
  for (const [setting, path] of choices) {
    const legal: readonly string[] = row[setting]
    if (legal.includes(settings[setting])) continue
    report(
      path,
      `must be ${legal.join(' or ')} with ${contextOf(settings)}, got ${settings[setting]}: ${refusalReasons[path]}`,
    )
  }
}

function rowsOf(settings: Pick<FailureSettings, 'failureProfile' | 'orderingMode'>): LegalCombination[] {
  return legalCombinations.filter(
    ({ failureProfile, orderingMode }) =>
      failureProfile === settings.failureProfile && orderingMode === settings.orderingMode,
  )
}

function contextOf({ failureProfile, orderingMode, tiers }: FailureSettings): string {
  return `failureProfile ${failureProfile}, orderingMode ${orderingMode}${tiers === 'NONE' ? ' and no tiers' : ''}`
}
