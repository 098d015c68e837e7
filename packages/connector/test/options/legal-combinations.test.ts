import { describe, expect, test } from 'vitest'
import {
  checkCombination,
  type FailureSettings,
  hasTiersByDefault,
  type LegalCombination,
  legalCombinations,
} from '../../src/options/legal-combinations.ts'
import { refusalsOf } from './test-binding.ts'

const values = {
  failureProfile: ['TIERED', 'BEST_EFFORT_SKIP', 'BLOCKING_UNLIMITED'],
  orderingMode: ['RELAXED_IN_RETRY', 'STRICT', 'KEY'],
  tiers: ['NONE', 'SOME'],
  strictExhaustion: ['DLT', 'PAUSE_PARTITION'],
  budgetExceededRouting: ['DLT', 'NEXT_TIER'],
  onDeadKey: ['RELEASE', 'BLOCK'],
  batchFailureStrategy: ['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'],
} as const

const everything = Object.entries(values).reduce<Record<string, string>[]>(
  (combinations, [setting, words]) =>
    combinations.flatMap((one) => words.map((word: string) => ({ ...one, [setting]: word }))),
  [{}],
) as unknown as FailureSettings[]

/** Said once more in other words, so that a slip in the table is seen. */
function isSensible(one: FailureSettings): boolean {
  const isTiered = one.failureProfile === 'TIERED'
  if (one.orderingMode === 'KEY' && !isTiered) return false
  if (one.tiers === 'SOME' && (!isTiered || one.orderingMode === 'STRICT')) return false
  if (one.strictExhaustion === 'PAUSE_PARTITION' && !(isTiered && one.orderingMode === 'STRICT')) return false
  if (one.budgetExceededRouting === 'NEXT_TIER' && one.tiers === 'NONE') return false
  if (one.onDeadKey === 'BLOCK' && one.orderingMode !== 'KEY') return false
  if (one.batchFailureStrategy === 'SEEK_TO_FAILED') return true
  const mayGoOn = isTiered && one.orderingMode === 'RELAXED_IN_RETRY'
  return mayGoOn && (one.batchFailureStrategy === 'DLQ_AND_CONTINUE' || one.tiers === 'SOME')
}

function reportsOf(settings: FailureSettings): string[] {
  const found: string[] = []
  checkCombination(settings, (path, problem) => found.push(`${path} ${problem}`))
  return found
}

function rowsOf(one: FailureSettings): readonly LegalCombination[] {
  return legalCombinations.filter((row) =>
    Object.entries(row).every(
      ([setting, legal]) => setting === 'becomes' || [legal].flat().includes(one[setting as keyof FailureSettings]),
    ),
  )
}

describe('the table of legal combinations', () => {
  test('answers for all 432 combinations, as does a binding that is made of them', () => {
    expect(everything).toHaveLength(432)
    for (const settings of everything) {
      const { tiers, onDeadKey, ...options } = settings
      const parallelism = settings.orderingMode === 'KEY' ? 'KEY' : 'PARTITION'
      const retry = { tiers: tiers === 'NONE' ? [] : [{ delayMs: 5 }] }
      const given = { ...options, keyOrder: { onDeadKey }, parallelism, retry }
      expect([settings, reportsOf(settings).length === 0]).toEqual([settings, isSensible(settings)])
      expect(refusalsOf(given)).toEqual(reportsOf(settings))
    }
    expect(everything.filter(isSensible)).toHaveLength(20)
  })

  test('has each combination in one row at most, and no row that nothing is in', () => {
    for (const settings of everything) expect(rowsOf(settings)).toHaveLength(isSensible(settings) ? 1 : 0)
    expect(new Set(everything.flatMap(rowsOf)).size).toBe(legalCombinations.length)
  })

  test('says which of the settings to change, what to, and why', () => {
    expect(
      reportsOf({
        failureProfile: 'TIERED',
        orderingMode: 'STRICT',
        tiers: 'SOME',
        strictExhaustion: 'DLT',
        budgetExceededRouting: 'NEXT_TIER',
        onDeadKey: 'BLOCK',
        batchFailureStrategy: 'DLQ_AND_CONTINUE',
      }),
    ).toEqual([
      expect.stringMatching(
        /^retry\.tiers must be left out or empty with .*orderingMode STRICT: later records overtake/,
      ),
      expect.stringMatching(/^budgetExceededRouting must be DLT with .*, got NEXT_TIER: there is no next tier$/),
      expect.stringMatching(/^keyOrder\.onDeadKey must be RELEASE with .*, got BLOCK: only KEY can hold/),
      expect.stringMatching(
        /^batchFailureStrategy must be SEEK_TO_FAILED with .*, got DLQ_AND_CONTINUE: a batch can continue/,
      ),
    ])
    expect(
      reportsOf({
        failureProfile: 'BLOCKING_UNLIMITED',
        orderingMode: 'KEY',
        tiers: 'NONE',
        strictExhaustion: 'DLT',
        budgetExceededRouting: 'DLT',
        onDeadKey: 'RELEASE',
        batchFailureStrategy: 'SEEK_TO_FAILED',
      }),
    ).toEqual([
      expect.stringMatching(/^orderingMode KEY does not go with BLOCKING_UNLIMITED: .*parallelism: KEY alone/),
    ])
  })

  test('decides where the default tiers apply', () => {
    const withTiers = everything.filter(hasTiersByDefault).map((one) => `${one.failureProfile} ${one.orderingMode}`)
    expect(new Set(withTiers)).toEqual(new Set(['TIERED RELAXED_IN_RETRY', 'TIERED KEY']))
  })
})
