/** The reference page generated from the option rules of the outbox. */

import { listOptions, type OptionRow, type Rules } from '@waybill/core/option'
import { code, optionTable, page, table } from '@waybill/test-support'
import { adaptiveRetryRules } from '../../src/options/adaptive-retry.ts'
import { exponentialRetryRules } from '../../src/options/exponential-retry.ts'
import { keyedRules } from '../../src/options/keyed-options.ts'
import { leasingRules } from '../../src/options/leasing-options.ts'
import {
  claimRules,
  orderedRules,
  poolRules,
  relayRules,
  writerOnlyRules,
  writerRules,
} from '../../src/options/outbox-rules.ts'

const madeBy = 'npx vitest run packages/outbox/test/options/reference-page.test.ts -u'

const computedDefaults = {
  maxAttempts: '10; 12 with `Outbox.leasing`',
  retry: 'exponential, from 200 ms to a minute; `Outbox.leasing`: adaptive',
  runtime: "the system's",
  hook: 'none',
  wakeUp: 'none',
}

/** The rules of each mode, by name. */
export const modes: Readonly<Record<string, Rules>> = {
  'Outbox.singleNode': poolRules,
  'Outbox.multiNode': claimRules,
  'Outbox.keyed': keyedRules,
  'Outbox.leasing': leasingRules,
  'Outbox.ordered': orderedRules,
  'Outbox.writerOnly': writerOnlyRules,
}

/** docs/reference/outbox-options.md */
export function renderOutboxOptions(): string {
  return page([
    '# Outbox options',
    '',
    'All options of every mode, with legal values, defaults and the reasons for them. Durations are in milliseconds. Options',
    'are validated once, when you create the outbox; one error lists every violation. To choose a mode, see',
    '[choose an outbox mode](../how-to/choose-an-outbox-mode.md).',
    '',
    `Generated from the rules in the code by \`${madeBy}\`.`,
    '',
    '## Every mode',
    '',
    ...optionsOf(writerRules),
    '',
    '## Every mode that delivers',
    '',
    'All modes except `Outbox.writerOnly`. `Outbox.ordered` takes only these.',
    '',
    ...optionsOf(changed(relayRules, writerRules)),
    '',
    '## Concurrent delivery',
    '',
    '`Outbox.singleNode` also takes these, and so do `Outbox.multiNode`, `Outbox.keyed` and `Outbox.leasing`, except for the',
    'options that they [reject](#rejected-options).',
    '',
    ...optionsOf(changed(poolRules, relayRules)),
    '',
    '## Outbox.multiNode',
    '',
    ...optionsOf(changed(claimRules, poolRules)),
    '',
    '## Outbox.keyed',
    '',
    'Additional options, and those with another default.',
    '',
    ...optionsOf(changed(keyedRules, poolRules)),
    '',
    '## Outbox.leasing',
    '',
    'Options in addition to `Outbox.keyed`, and those with another default.',
    '',
    ...optionsOf(changed(leasingRules, keyedRules), {
      breaker: 'opens after 5 failures in a row, for 20 seconds; the options of `Outbox.keyed`',
    }).filter((line) => !line.startsWith('| `breaker.')),
    '',
    '## Outbox.writerOnly',
    '',
    ...optionsOf(changed(writerOnlyRules, writerRules)),
    '',
    '## Rejected options',
    '',
    'The mode decides these itself, and rejects them.',
    '',
    ...table(['mode', 'options', 'because'], Object.entries(modes).flatMap(refusals)),
    '',
    '## Retries',
    '',
    '`retry: exponentialRetry({ … })`, which doubles the delay after each failure, whatever its cause:',
    '',
    ...optionTable(listOptions(exponentialRetryRules)),
    '',
    '`retry: adaptiveRetry({ … })`, which classifies failures, waits longer after unknown ones, and marks an event DEAD at once if',
    'retrying does not help:',
    '',
    ...optionTable(listOptions(adaptiveRetryRules), {
      throttlingFactor: 'always 1',
      forecast: 'by well-known error codes',
    }),
  ])
}

function optionsOf(rules: Rules, computed: Readonly<Record<string, string>> = {}): string[] {
  return optionTable(
    listOptions(rules).filter((row) => !isRefused(row)),
    { ...computedDefaults, ...computed },
  )
}

/** Returns the rules that a mode adds to those of another, or replaces. */
function changed(rules: Rules, base: Rules): Rules {
  return Object.fromEntries(Object.entries(rules).filter(([name, rule]) => base[name] !== rule))
}

/** Returns one row for all options that a mode rejects for one reason. */
function refusals([mode, rules]: readonly [string, Rules]): string[][] {
  const byReason = Map.groupBy(listOptions(rules).filter(isRefused), ({ expects }) => expects.replace(refused, ''))
  return [...byReason].map(([because, rows]) => [code(mode), rows.map(({ path }) => code(path)).join(', '), because])
}

const refused = /^left out: /

function isRefused({ expects }: OptionRow): boolean {
  return refused.test(expects)
}
