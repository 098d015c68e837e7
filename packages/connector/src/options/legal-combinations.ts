/**
 * Which settings about failures go together (C-77). The validator reads this table and the reference page is made of it,
 * so that neither knows a combination that the other does not.
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

/** The settings of one binding. */
export interface FailureSettings {
  readonly failureProfile: FailureProfile
  readonly orderingMode: OrderingMode
  readonly tiers: TierPresence
  readonly strictExhaustion: StrictExhaustion
  readonly budgetExceededRouting: BudgetExceededRouting
  readonly onDeadKey: OnDeadKey
  readonly batchFailureStrategy: BatchFailureStrategy
}

/** One row: any of the values in each list may be chosen. */
export interface LegalCombination extends Pick<FailureSettings, 'failureProfile' | 'orderingMode' | 'tiers'> {
  readonly strictExhaustion: readonly StrictExhaustion[]
  readonly budgetExceededRouting: readonly BudgetExceededRouting[]
  readonly onDeadKey: readonly OnDeadKey[]
  readonly batchFailureStrategy: readonly BatchFailureStrategy[]
  /** What happens to a record that tier 0 could not save. */
  readonly becomes: string
}

const noChoice = {
  strictExhaustion: ['DLT'],
  budgetExceededRouting: ['DLT'],
  onDeadKey: ['RELEASE'],
  batchFailureStrategy: ['SEEK_TO_FAILED'],
} as const

/** Everything that may be written. What is not here is refused. */
export const legalCombinations: readonly LegalCombination[] = Object.freeze([
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'RELAXED_IN_RETRY',
    tiers: 'SOME',
    budgetExceededRouting: ['DLT', 'NEXT_TIER'],
    batchFailureStrategy: ['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'],
    becomes: 'goes through the tiers, overtaken by those behind it, then to the dead letters',
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
    becomes: 'goes to the dead letters, or its partition stands still until an operator resumes it',
  },
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'KEY',
    tiers: 'SOME',
    budgetExceededRouting: ['DLT', 'NEXT_TIER'],
    onDeadKey: ['RELEASE', 'BLOCK'],
    becomes: 'goes through the tiers in the waiting topic, with all of its key behind it, then to the dead letters',
  },
  {
    ...noChoice,
    failureProfile: 'TIERED',
    orderingMode: 'KEY',
    tiers: 'NONE',
    onDeadKey: ['RELEASE', 'BLOCK'],
    becomes: 'goes to the dead letters; those of its key go on, or wait in the waiting topic',
  },
  ...(['RELAXED_IN_RETRY', 'STRICT'] as const).map((orderingMode) => ({
    ...noChoice,
    failureProfile: 'BEST_EFFORT_SKIP' as const,
    orderingMode,
    tiers: 'NONE' as const,
    becomes: 'is skipped and counted; to the dead letters goes only what can never succeed',
  })),
  ...(['RELAXED_IN_RETRY', 'STRICT'] as const).map((orderingMode) => ({
    ...noChoice,
    failureProfile: 'BLOCKING_UNLIMITED' as const,
    orderingMode,
    tiers: 'NONE' as const,
    becomes: 'is tried until it succeeds, its lane waits; to the dead letters goes only what can never succeed',
  })),
])

/** Why a setting is refused where no row has it; by the path of the option. */
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
    'KEY keeps records waiting behind one of their key that is in a tier, and only TIERED moves records away; ' +
    'with the other profiles parallelism: KEY alone keeps the order of each key',
  'retry.tiers':
    'a record in a tier is overtaken by those behind it, which STRICT forbids; BEST_EFFORT_SKIP and ' +
    'BLOCKING_UNLIMITED move no record away',
  strictExhaustion: 'only STRICT with TIERED gives a record up and may stand still for it',
  budgetExceededRouting: 'there is no tier to go to',
  'keyOrder.onDeadKey': 'only KEY knows which records wait behind a dead one',
  batchFailureStrategy:
    'a batch goes on without a record only where records may overtake it, and to a tier only where there is one; ' +
    'with STRICT batchMaxRedeliveries: 1 gives a record up at once',
}

/** Whether the three default tiers apply when a binding says nothing about tiers. */
export function hasTiersByDefault({
  failureProfile,
  orderingMode,
}: Pick<FailureSettings, 'failureProfile' | 'orderingMode'>): boolean {
  return rowsOf({ failureProfile, orderingMode }).some(({ tiers }) => tiers === 'SOME')
}

/** Reports every setting that the table does not have beside the others. */
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
