/** Bugs of projections, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const source = 'packages/projection/src'

const bugs: readonly PlantedBug[] = [
  {
    name: 'repeats-applied',
    breaks: 'The last event of a row is applied again.',
    file: `${source}/fold/step.ts`,
    find: "if (found <= current) return 'SKIP'",
    replace: "if (found < current) return 'SKIP'\n  if (found === current) return 'APPLY'",
  },
  {
    name: 'gaps-applied',
    breaks: 'An event is applied although one before it is missing.',
    file: `${source}/fold/step.ts`,
    find: "return found === current + 1 ? 'APPLY' : 'GAP'",
    replace: "return found > current ? 'APPLY' : 'GAP'",
  },
  {
    name: 'gap-not-kept',
    breaks: 'A gap is a dead letter, and its key is not quarantined.',
    file: `${source}/projector/apply-batch.ts`,
    find: 'return tx.quarantine(table, { key, reason, expected, found })',
    replace: 'return key !== undefined && table !== undefined && reason !== undefined && expected <= found',
  },
  {
    name: 'lower-versions-written',
    breaks: 'A slower consumer overwrites a row with an earlier state.',
    file: `${source}/memory/memory-transaction.ts`,
    find: 'else if (stored.version < row.version)',
    replace: 'else',
  },
  {
    name: 'position-not-moved',
    breaks: 'Rows commit without the position of their partition.',
    file: `${source}/projector/apply-batch.ts`,
    find: '    await tx.advance(live.build, positionsBehind(fresh.slice(0, result.stop?.index)))\n',
    replace: '',
  },
  {
    name: 'position-read-before-its-lock',
    breaks: 'Two consumers apply the same events by position.',
    file: `${source}/projector/apply-batch.ts`,
    find: 'const fresh = placed.filter((one) => !isBehind(one, locked))',
    replace: 'const fresh = placed.filter((one) => !isBehind(one, known) && locked.length > 0)',
  },
  {
    name: 'reading-begins-behind-stored-position',
    breaks: 'Reading begins behind the event that the rows need next.',
    file: `${source}/projector/create-projector.ts`,
    find: 'offset: stored?.next ?? 0n }',
    replace: 'offset: stored === undefined ? 0n : stored.next + 1n }',
  },
  {
    name: 'leased-position-moves-back',
    breaks:
      'A worker of a rebuild releases a partition at the position where it leased it, although the table is live.',
    file: `${source}/memory/memory-transaction.ts`,
    find: 'if (position.epoch !== claimed.epoch || position.next !== claimed.next) return false',
    replace: 'if (position.epoch !== claimed.epoch) return false',
  },
  {
    name: 'switch-shares-the-lock',
    breaks: 'Consumers write the former table while readers are switched to the new one.',
    file: `${source}/rebuild/switch-build.ts`,
    find: "const builds = await tx.lock(projection.name, 'EXCLUSIVE')",
    replace: "const builds = await tx.lock(projection.name, 'SHARED')",
  },
  {
    name: 'switch-ignores-gaps',
    breaks: 'A table is switched to although keys of it are behind the live table.',
    file: `${source}/rebuild/switch-build.ts`,
    find: 'if ((await keysBehind(gapsWithin(tx), tableOf(live), table)).length > mostBehind) throw gaps',
    replace: 'void [gapsWithin, keysBehind, tableOf, mostBehind, gaps]',
  },
  {
    name: 'gaps-not-closed',
    breaks: 'A key whose missing event came behind later ones stays behind the live table.',
    file: `${source}/rebuild/build-gaps.ts`,
    find: '      await closeGap(this.#deps, key, events)',
    replace: '      void closeGap',
  },
  {
    name: 'switch-misses-live-events',
    breaks: 'A table is switched to before it includes what the live one does.',
    file: `${source}/rebuild/switch-build.ts`,
    find: 'for (const range of missing) await catchUpWithin(tx, deps, table, range, endAt)',
    replace: 'void [catchUpWithin, endAt]',
  },
  {
    name: 'rows-by-position-not-locked',
    breaks: 'Two partitions with events of one key compute its next state from the same row.',
    file: `${source}/projector/lock-rows.ts`,
    find: 'return tx.readLocked(table, locked)',
    replace: 'return store.read(table, locked)',
  },
  {
    name: 'former-table-written',
    breaks: 'A consumer writes a table that is not live any more, and takes its events for applied.',
    file: `${source}/projector/apply-batch.ts`,
    find: "const result = live?.number === build.number ? await work(tx) : 'MOVED'",
    replace: "const result = live === undefined ? 'MOVED' : await work(tx)",
  },
  {
    name: 'closed-gap-recorded',
    breaks: 'A key is quarantined for an event that another consumer has applied meanwhile.',
    file: `${source}/memory/memory-transaction.ts`,
    find: 'if (row.isQuarantined || row.version !== entry.expected - 1) return false',
    replace: 'if (row.isQuarantined) return false',
  },
  {
    name: 'later-events-forgotten',
    breaks: 'A key is released before the last of its dead letters is there.',
    file: `${source}/memory/memory-transaction.ts`,
    find: 'last: Math.max(entry.last, version)',
    replace: 'last: entry.last',
  },
]

/** The seeds that find the mutants. `npm run sim -- projection --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of projections. */
export const projectionMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
