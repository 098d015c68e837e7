/** Bugs of Kafka clients, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

/** The seeds that find the mutants. `npm run sim -- client --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

const client = 'packages/kafka/src/client'

/** Mutants of the group member and its commits. */
const groupMutants: readonly PlantedBug[] = [
  {
    name: 'stale-commit-resent',
    breaks: 'A commit that failed in one generation is sent again in the next.',
    file: `${client}/consume/committer.ts`,
    find: 'if (call.membership !== membership || membership.generationId < 0) {',
    replace: 'if (membership.generationId < 0) {',
  },
  {
    name: 'commit-without-ownership',
    breaks: 'Offsets of a partition that is gone are committed as long as the generation lasts.',
    file: `${client}/consume/group-consumer.ts`,
    find: "if (owned === undefined) return 'it is not owned any more'",
    replace: 'if (owned === undefined) return undefined',
  },
  {
    name: 'commit-of-an-old-epoch',
    breaks: 'Offsets settled in one assignment are committed in a later one of the same partition.',
    file: `${client}/consume/group-consumer.ts`,
    find: 'if (owned.epoch !== offset.epoch)',
    replace: 'if (owned.epoch < offset.epoch)',
  },
  {
    name: 'commit-in-a-dead-session',
    breaks: 'A commit is sent although the session may have ended.',
    file: `${client}/consume/group-consumer.ts`,
    find: "if (!this.#member.isSessionAlive) return 'no heartbeat was acknowledged for a whole session'",
    replace: '',
  },
  {
    name: 'lost-commit-is-a-success',
    breaks: 'A commit whose response is lost is reported as done.',
    file: `${client}/consume/committer.ts`,
    find: 'call.settleAll(error.kind, error.message)',
    replace: "call.settleAll('COMMITTED' as KafkaErrorKind, error.message)",
  },
  {
    name: 'moved-coordinator-is-a-success',
    breaks: 'A commit refused by a broker that is no longer the coordinator is reported as done.',
    file: `${client}/consume/committer.ts`,
    find: "if (code === errorCode.NONE) call.settle(name, 'COMMITTED', undefined)",
    replace:
      "if (code === errorCode.NONE || code === errorCode.NOT_COORDINATOR) call.settle(name, 'COMMITTED', undefined)",
  },
  {
    name: 'no-self-fencing',
    breaks: 'Records are delivered although the session may have ended.',
    file: `${client}/consume/group-consumer.ts`,
    find: 'mayHand: () => this.#member.isSessionAlive,',
    replace: 'mayHand: () => true,',
  },
  {
    name: 'session-counted-from-the-answer',
    breaks: 'A heartbeat extends the session from its response, not from its request.',
    file: `${client}/group/heartbeat.ts`,
    find: "if (answer === 'ALIVE' || answer === 'REBALANCE') this.proveAlive(sentAt)",
    replace:
      "if (answer === 'ALIVE' || answer === 'REBALANCE') this.proveAlive(Math.max(sentAt, this.#runtime.clock.monotonic()))",
  },
  {
    name: 'no-heartbeat-while-draining',
    breaks: 'Heartbeats stop while partitions drain.',
    file: `${client}/group/group-member.ts`,
    find: '      await this.#listener.revoking(partitions, deadlineMs)',
    replace: '      this.#heartbeat.stop()\n      await this.#listener.revoking(partitions, deadlineMs)',
  },
  {
    name: 'no-drain',
    breaks: 'Partitions are released before their records are settled.',
    file: `${client}/group/group-member.ts`,
    find: '() => isLate || this.#isDrainCut || this.#isPlaceLost,',
    replace: '() => true || isLate,',
  },
  {
    name: 'partitions-kept-over-a-lost-place',
    breaks: 'A member that the group has dropped continues with its former partitions.',
    file: `${client}/group/group-member.ts`,
    find: '        this.#lose()\n        await this.#backOff()',
    replace: '        this.#membership = noMembership\n        await this.#backOff()',
  },
  {
    name: 'given-before-given-back',
    breaks: 'The leader assigns partitions that another member still owns.',
    file: `${client}/group/group-leader.ts`,
    find: ': withoutStillHeld(assignSticky(candidates, counts), candidates)',
    replace: ': assignSticky(candidates, counts)',
  },
]

/** Mutants of the fetcher and the records it returns. */
const fetchMutants: readonly PlantedBug[] = [
  {
    name: 'position-kept-over-reassignment',
    breaks: 'A reassigned partition continues at the position of this member, not at that of the group.',
    file: `${client}/fetch/fetcher.ts`,
    find: `    this.#feeds.set(feed.name, feed)
  }

  /** Removes a feed. None of its records are handed out any more, and a pending response is discarded. */
  remove(feed: PartitionFeed): void {
    if (!this.#isOurs(feed)) return
    this.#feeds.delete(feed.name)`,
    replace: `    const former = this.#feeds.get(feed.name)
    if (former !== undefined) feed.seek(former.position)
    this.#feeds.set(feed.name, feed)
  }

  remove(feed: PartitionFeed): void {
    feed.isHeld = true`,
  },
  {
    name: 'records-of-another-epoch',
    breaks: 'Records of one assignment are delivered as those of the previous one.',
    file: `${client}/consume/feed-opener.ts`,
    find: 'new PartitionFeed({ topic, partition, epoch }, isolation',
    replace: 'new PartitionFeed({ topic, partition, epoch: Math.max(1, epoch - 1) }, isolation',
  },
  {
    name: 'lost-partition-handed-out',
    breaks: 'Records of a lost partition are still delivered.',
    file: `${client}/fetch/fetcher.ts`,
    find: '    this.#feeds.delete(feed.name)\n    feed.rewind()\n',
    replace: '',
  },
  {
    name: 'leaving-partition-handed-out',
    breaks: 'Records of a partition that is being released are still delivered.',
    file: `${client}/consume/ownership.ts`,
    find: 'if (entry.feed !== undefined) entry.feed.isHeld = true',
    replace: '',
  },
  {
    name: 'pause-lost-in-a-rebalance',
    breaks: 'Retained partitions are resumed when others are assigned.',
    file: `${client}/consume/ownership.ts`,
    find: '    void this.#openAll(this.#deps.table.add(partitions), new Map())',
    replace: `    for (const { feed } of this.#deps.table.values()) if (feed !== undefined) feed.isPaused = false
    void this.#openAll(this.#deps.table.add(partitions), new Map())`,
  },
  {
    name: 'pause-ignored-for-what-is-buffered',
    breaks: 'Records fetched before a pause are delivered during it.',
    file: `${client}/fetch/fetcher.ts`,
    find: 'if (feed.bufferedRecords === 0 || !feed.isActive) continue',
    replace: 'if (feed.bufferedRecords === 0 || feed.isHeld || feed.isStopped) continue',
  },
  {
    name: 'buffer-kept-over-a-seek',
    breaks: 'Records fetched before a seek are delivered after it.',
    file: `${client}/fetch/partition-feed.ts`,
    find: '    this.rewind()\n    this.isStopped = false',
    replace: '    this.isStopped = false',
  },
  {
    name: 'answer-taken-after-a-seek',
    breaks: 'The response to a fetch sent before a seek is accepted after it.',
    file: `${client}/fetch/fetcher.ts`,
    find: 'if (this.#isOurs(one.feed) && one.feed.era === one.era) this.#absorb',
    replace: 'if (this.#isOurs(one.feed)) this.#absorb',
  },
  {
    name: 'position-ahead-of-the-buffer',
    breaks: 'The position follows the fetched records, not the delivered ones.',
    file: `${client}/fetch/partition-feed.ts`,
    find: 'if (this.#batches.size === 0) this.#position = slice.nextOffset',
    replace: 'this.#position = slice.nextOffset',
  },
  {
    name: 'aborted-records-shown',
    breaks: 'Records of aborted transactions are delivered.',
    file: `${client}/fetch/committed-batches.ts`,
    find: '    return !isAborted\n',
    replace: '    return true\n',
  },
  {
    name: 'abort-without-an-end',
    breaks: 'After one aborted transaction of a producer, its next one in the same response is treated as aborted.',
    file: `${client}/fetch/committed-batches.ts`,
    find: "if (batch.controlKind() === 'ABORT') this.#aborting.delete(batch.producerId)",
    replace: '',
  },
  {
    name: 'unstable-offsets-read',
    breaks: 'A new owner does not wait for the transaction that is about to commit its offsets.',
    file: `${client}/consume/start-offsets.ts`,
    find: 'requireStable: true',
    replace: 'requireStable: false',
  },
  {
    name: 'lost-position-reset-to-the-end',
    breaks: 'A position below the start of the log moves to its end.',
    file: `${client}/consume/feed-opener.ts`,
    find: '    const query = { ...partition, end }\n',
    replace: "    const query = { ...partition, end: 'LATEST' as typeof end }\n",
  },
]

/** Mutants of the producers. */
const produceMutants: readonly PlantedBug[] = [
  {
    name: 'sequence-not-advanced',
    breaks: 'A batch reuses the sequence numbers of the previous one, and the broker drops it as a duplicate.',
    file: `${client}/producer/partition-sender.ts`,
    find: '    this.#sequence = sequenceAfter(this.#sequence, count)\n',
    replace: '',
  },
  {
    name: 'repeat-under-the-next-epoch',
    breaks: 'A batch whose response is lost is retried under sequence numbers that the broker cannot recognize.',
    file: `${client}/producer/partition-sender.ts`,
    find: "if (error.kind !== 'RETRIABLE') this.#doubt()\n",
    replace: "if (error.kind !== 'RETRIABLE') this.#raiseEpoch()\n",
  },
  {
    name: 'repeat-with-other-records',
    breaks: 'A retry includes records queued meanwhile, under the sequence numbers of the first attempt.',
    file: `${client}/producer/partition-sender.ts`,
    find: "    this.#phase = 'BACKING_OFF'\n",
    replace: "    this.#phase = 'BACKING_OFF'\n    this.#count = 0\n    this.#encoded = null\n",
  },
  {
    name: 'lost-answer-is-a-refusal',
    breaks: 'A record whose response is lost is reported as not written.',
    file: `${client}/producer/partition-sender.ts`,
    find: 'this.#failFront(Math.min(count, held), unknown)',
    replace: 'this.#failFront(Math.min(count, held), late)',
  },
  {
    name: 'doubt-forgotten',
    breaks: 'An ambiguous response is treated as a refusal.',
    file: `${client}/producer/produce-answer.ts`,
    find: "  REQUEST_TIMED_OUT: 'DOUBTFUL',",
    replace: "  REQUEST_TIMED_OUT: 'LATER',",
  },
  {
    name: 'doubtful-sequence-given-to-others',
    breaks: 'After a record of unknown outcome was given up, its sequence numbers are reused.',
    file: `${client}/producer/partition-sender.ts`,
    find: '    if (isInDoubt) this.#raiseEpoch()\n',
    replace: '',
  },
  {
    name: 'two-requests-at-once',
    breaks: 'Two requests of one partition are in flight at once.',
    file: `${client}/producer/partition-sender.ts`,
    find: "    this.#phase = 'IN_FLIGHT'\n    return this.#encoded",
    replace: '    return this.#encoded',
  },
]

/** Mutants of transactions. */
const transactionMutants: readonly PlantedBug[] = [
  {
    name: 'commit-before-the-records',
    breaks: 'A transaction is committed while its records are still in flight.',
    file: `${client}/producer/transactional-producer.ts`,
    find: '      await this.#loop.flush()\n      // A pending',
    replace: '      // A pending',
  },
  {
    name: 'lost-commit-is-an-abort',
    breaks: 'A commit whose response is lost is reported as aborted.',
    file: `${client}/producer/transactional-producer.ts`,
    find: "if (this.#isStale || error.kind === 'UNKNOWN') throw this.#die(this.#unknownEnd(error))",
    replace: '',
  },
  {
    name: 'written-before-added',
    breaks: 'Records are written to a partition before the coordinator knows that it belongs to the transaction.',
    file: `${client}/producer/transaction-partitions.ts`,
    find: 'if (this.#asked.get(topic)?.has(partition)) return false',
    replace: 'if (this.#asked.get(topic)?.has(partition)) return true',
  },
  {
    name: 'failed-send-committed',
    breaks: 'A transaction is committed although one of its records was not written.',
    file: `${client}/producer/transactional-producer.ts`,
    find: '    this.#failure ??= error\n',
    replace: "    if (error.kind === 'FENCED') this.#failure ??= error\n",
  },
  {
    name: 'offsets-without-a-generation',
    breaks: 'Offsets are committed without a generation, so those of a stale owner are accepted.',
    file: `${client}/producer/transaction-coordinator.ts`,
    find: '        groupId,\n        generationId,\n        memberId,\n        groupInstanceId: instanceId,',
    replace: "        groupId,\n        generationId: -1,\n        memberId: '',\n        groupInstanceId: null,",
  },
  {
    name: 'offsets-of-what-was-given-up',
    breaks: 'Offsets are committed without a check that their partitions are still owned.',
    file: `${client}/producer/transaction-coordinator.ts`,
    find: '      assertOwned(offsets, group)\n',
    replace: '',
  },
  {
    name: 'epoch-kept-after-a-doubt',
    breaks: 'After a transaction of unknown outcome the next one begins under the same epoch.',
    file: `${client}/producer/transactional-producer.ts`,
    find: 'if (this.#identity === null || this.#isStale) await this.#renew()',
    replace: 'if (this.#identity === null) await this.#renew()',
  },
]

/** All mutants of the client. */
export const clientMutants: readonly Mutant[] = withRecordedSeeds(
  [...groupMutants, ...fetchMutants, ...produceMutants, ...transactionMutants],
  seedFile,
)
