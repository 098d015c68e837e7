/** The reference page that is made of the rules the outbox reads its options by. */

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
    'Every option of every mode: what it takes, what holds without it, and why. Durations are milliseconds. Options are read',
    'once, when the outbox is created; one error lists every violation.',
    '[Choose a mode](../how-to/choose-an-outbox-mode.md) says which one to take.',
    '',
    `Made of the rules in the code by \`${madeBy}\`.`,
    '',
    '## Every mode',
    '',
    ...optionsOf(writerRules),
    '',
    '## Every mode that delivers',
    '',
    'All but `Outbox.writerOnly`. `Outbox.ordered` takes these and no more.',
    '',
    ...optionsOf(changed(relayRules, writerRules)),
    '',
    '## Several at a time',
    '',
    '`Outbox.singleNode` takes these as well, and so do `Outbox.multiNode`, `Outbox.keyed` and `Outbox.leasing`, but for what they',
    'refuse below.',
    '',
    ...optionsOf(changed(poolRules, relayRules)),
    '',
    '## Outbox.multiNode',
    '',
    ...optionsOf(changed(claimRules, poolRules)),
    '',
    '## Outbox.keyed',
    '',
    'What it adds, or has another default for.',
    '',
    ...optionsOf(changed(keyedRules, poolRules)),
    '',
    '## Outbox.leasing',
    '',
    'What it adds to `Outbox.keyed`, or has another default for.',
    '',
    ...optionsOf(changed(leasingRules, keyedRules), {
      breaker: 'opens after 5 failures in a row, for 20 seconds; takes what it does there',
    }).filter((line) => !line.startsWith('| `breaker.')),
    '',
    '## Outbox.writerOnly',
    '',
    ...optionsOf(changed(writerOnlyRules, writerRules)),
    '',
    '## What a mode has decided itself',
    '',
    'Giving one of these is a misunderstanding, and refused.',
    '',
    ...table(['mode', 'options', 'because'], Object.entries(modes).flatMap(refusals)),
    '',
    '## Retries',
    '',
    '`retry: exponentialRetry({ … })`, which doubles the delay after each failure, whatever failed:',
    '',
    ...optionTable(listOptions(exponentialRetryRules)),
    '',
    '`retry: adaptiveRetry({ … })`, which sorts failures, waits longer for those that nobody knows, and gives up at once what',
    'trying again cannot help:',
    '',
    ...optionTable(listOptions(adaptiveRetryRules), {
      throttlingFactor: 'always 1',
      forecast: 'by well-known codes of errors',
    }),
  ])
}

function optionsOf(rules: Rules, computed: Readonly<Record<string, string>> = {}): string[] {
  return optionTable(
    listOptions(rules).filter((row) => !isRefused(row)),
    { ...computedDefaults, ...computed },
  )
}

/** The rules that a mode adds to those of another, or has instead. */
function changed(rules: Rules, base: Rules): Rules {
  return Object.fromEntries(Object.entries(rules).filter(([name, rule]) => base[name] !== rule))
}

/** One row for all that a mode refuses for one reason. */
function refusals([mode, rules]: readonly [string, Rules]): string[][] {
  const byReason = Map.groupBy(listOptions(rules).filter(isRefused), ({ expects }) => expects.replace(refused, ''))
  return [...byReason].map(([because, rows]) => [code(mode), rows.map(({ path }) => code(path)).join(', '), because])
}

const refused = /^left out: /

function isRefused({ expects }: OptionRow): boolean {
  return refused.test(expects)
}
