/** Bugs of replays, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const replay = 'packages/connector/src/replay'

const bugs: readonly PlantedBug[] = [
  {
    name: 'committed-before-it-is-sent',
    breaks: 'The position moves before the copies are written.',
    file: `${replay}/replay-run.ts`,
    find: '    const decided = await this.#writeAll(records)\n',
    replace:
      "    await source.settle(decidedUpTo(records.map((record) => ({ record, result: 'REPLAYED' as const }))))\n" +
      '    const decided = await this.#writeAll(records)\n',
  },
  {
    name: 'unconfirmed-taken-for-replayed',
    breaks: 'The position passes a copy that is not confirmed.',
    file: `${replay}/replay-run.ts`,
    find: "if (typeof result === 'object' || result === 'NOT_NOW') open.add(partition)",
    replace: "if (result === 'NOT_NOW') open.add(partition)",
  },
  {
    name: 'young-ones-passed-over',
    breaks: 'The position passes a dead letter that was too young.',
    file: `${replay}/replay-run.ts`,
    find: "if (typeof result === 'object' || result === 'NOT_NOW') open.add(partition)",
    replace: "if (typeof result === 'object') open.add(partition)",
  },
  {
    name: 'cooldown-forgotten',
    breaks: 'The schedule replays a dead letter as soon as it sees it.',
    file: `${replay}/replayable-at.ts`,
    find: 'return deadAtMs > nowMs + cooldownMs ? nowMs : deadAtMs + cooldownMs',
    replace: 'return deadAtMs > nowMs + cooldownMs ? nowMs : nowMs',
  },
  {
    name: 'count-not-raised',
    breaks: 'A copy has the replay count of its dead letter.',
    file: `${replay}/replay-copy.ts`,
    find: '[replayHeader.count, letter.replayCount + 1],',
    replace: '[replayHeader.count, letter.replayCount],',
  },
  {
    name: 'replayed-without-end',
    breaks: 'Nothing bounds how often a record is replayed.',
    file: `${replay}/replay-plan.ts`,
    find: "if (route.kind !== 'RELEASE' && letter.replayCount >= maxReplays) return 'MAX_REPLAYS'",
    replace: "if (route.kind === 'RELEASE' && letter.replayCount >= maxReplays) return 'MAX_REPLAYS'",
  },
  {
    name: 'those-of-others-replayed',
    breaks: 'Dead letters of another group are replayed.',
    file: `${replay}/replay-plan.ts`,
    find: 'if (consumerGroup !== undefined && consumerGroup !== groupId) return false',
    replace: 'if (consumerGroup === undefined && groupId === undefined) return false',
  },
  {
    name: 'damaged-ones-replayed',
    breaks: 'A copy is made of an envelope that cannot be read.',
    file: `${replay}/replay-plan.ts`,
    find: "if (!letter.isWhole) return 'UNREADABLE'",
    replace: "if (letter.isWhole === undefined) return 'UNREADABLE'",
  },
  {
    name: 'partition-given-away-in-a-batch',
    breaks: 'A partition goes to another member before the current batch is committed.',
    file: `${replay}/group-source.ts`,
    find: 'onRevoking: () => this.#batch?.promise ?? Promise.resolve(),',
    replace: 'onRevoking: () => Promise.resolve(),',
  },
  {
    name: 'more-than-was-asked-for',
    breaks: 'A replay copies whole batches, even if fewer records were requested.',
    file: `${replay}/replay-run.ts`,
    find: 'await source.next(Math.min(batchSize, limit - this.#replayed))',
    replace: 'await source.next(batchSize)',
  },
]

/** The seeds that find the mutants. `npm run sim -- replay --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of replays. */
export const replayMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
