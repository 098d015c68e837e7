import type { Binding } from '@waybill/connector'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { AuditedPartition } from '../support/committed-audit.ts'
import { ConnectorScene, patient, type RecordKind } from '../support/connector-scene.ts'
import type { Repeats } from '../support/handled-journal.ts'
import { report, scale } from '../support/scale.ts'

const partitions = 2
const records = scale === 'WHOLE' ? 240 : 120
const keys = 12
const maxAhead = 50
const batch = 20

/** A setup of a binding, and how many records of a partition a kill may repeat with it (L5). */
interface Setup {
  readonly binding: Partial<Omit<Binding, 'handler'>>
  readonly mayRepeat: number
  /** Failpoints at which its work can be interrupted. */
  readonly points: readonly string[]
}

const anywhere = [
  'assign.end',
  'fetch.received',
  'handler.before',
  'handler.after',
  'dlt.publish',
  'dlt.acked',
  'commit.send',
  'commit.acked',
  'revoke.start',
  'revoke.end',
]
const setups: Readonly<Record<string, Setup>> = {
  'record by record': {
    binding: { ackMode: 'MANUAL_IMMEDIATE' },
    mayRepeat: 1,
    points: [...anywhere, 'retry.publish', 'retry.acked'],
  },
  'many at once': {
    binding: { ackMode: 'MANUAL', parallelism: 'UNORDERED', maxInFlight: 8, maxAhead },
    mayRepeat: maxAhead,
    points: [...anywhere, 'retry.publish', 'retry.acked'],
  },
  'in batches': {
    binding: { listenerType: 'BATCH', maxPollRecords: batch, batchFailureStrategy: 'TIER_AND_CONTINUE' },
    mayRepeat: batch,
    points: [...anywhere, 'retry.publish', 'retry.acked'],
  },
  'in the order of keys': {
    binding: { orderingMode: 'KEY', parallelism: 'KEY', maxAhead },
    mayRepeat: maxAhead,
    points: [...anywhere, 'waiting.append', 'waiting.appended'],
  },
}

const smoke: readonly (readonly [string, string, number])[] = [
  ['record by record', 'handler.after', 40],
  ['record by record', 'retry.acked', 40],
  ['many at once', 'dlt.publish', 40],
  ['many at once', 'commit.send', 40],
  ['in batches', 'handler.after', 40],
  ['in batches', 'commit.send', 40],
  ['in the order of keys', 'waiting.appended', 40],
  ['in the order of keys', 'revoke.start', 40],
]
/** At the beginning, in the middle, and when most is done. */
const moments = [0, 60, 150]
const everything = Object.entries(setups).flatMap(([setup, { points }]) =>
  points.flatMap((point) => moments.map((handled) => [setup, point, handled] as const)),
)

/** Of twenty records sixteen succeed at once, three after failures, and one never. */
function kindOf(index: number): RecordKind {
  if (index % 20 === 7) return 'DEAD'
  return index % 20 === 3 || index % 20 === 11 || index % 20 === 18 ? 'LATER' : 'OK'
}

/**
 * Checks that a kill repeats little, and no record that the acknowledged commit declares settled; source records only
 * as far as work could be ahead of the commit.
 */
function expectFewRepeats(
  repeats: readonly Repeats[],
  atDeath: readonly AuditedPartition[] | undefined,
  mayRepeat: number,
): void {
  const wrong = repeats.filter(({ topic, partition, offsets }) => {
    if (offsets.length > mayRepeat) return true
    if (atDeath === undefined) return false
    const isWaiting = topic.endsWith('.waiting')
    // Waiting records are part of the source's commits, which are the only ones then.
    const before = atDeath.find((one) => one.partition === partition && (isWaiting || one.topic === topic))
    const from = before?.committed ?? 0n
    return offsets.some(
      (offset) =>
        before?.isSettled(offset, isWaiting ? 'WAITING' : 'SOURCE') === true ||
        (!isWaiting && offset >= from + BigInt(maxAhead)),
    )
  })
  expect(wrong).toEqual([])
}

/**
 * Checks that each record is counted once, by the outcome of its last delivery from the source. A record whose retry was
 * written and not committed by the killed process is delivered again, and succeeds if the retry has failed often enough
 * by then; no other record that is handled later may.
 */
function expectCounts(scene: ConnectorScene, audit: readonly AuditedPartition[], victim: number): void {
  const source = audit.filter(({ topic }) => topic === scene.topic)
  const sum = (letter: string): number => Number(source.reduce((all, { count }) => all + count(letter), 0n))
  const [ok, later, dead] = (['OK', 'LATER', 'DEAD'] as const).map((kind) => scene.values(kind).length)
  if (scene.keepsKeys)
    expect({ handled: sum('o') + sum('wo'), dead: sum('d') + sum('wd'), skipped: sum('k') }).toEqual({
      handled: (ok ?? 0) + (later ?? 0),
      dead,
      skipped: 0,
    })
  else {
    const { journal } = scene
    const steps = journal.lastSteps(scene.topic)
    const succeeded = scene.values('LATER').filter((value) => steps.get(value) === 'OK')
    const failedBefore = new Set(journal.failuresOf(victim, scene.topic))
    expect(succeeded.filter((value) => !failedBefore.has(value))).toEqual([])
    expect({ ok: sum('o'), retried: sum('r'), dead: sum('d'), skipped: sum('k') }).toEqual({
      ok: (ok ?? 0) + succeeded.length,
      retried: (later ?? 0) - succeeded.length,
      dead,
      skipped: 0,
    })
  }
}

describeWith('kafka')('a connector that is killed', ({ kafka: place }) => {
  test.concurrent.for(scale === 'WHOLE' ? everything : smoke)(
    'loses nothing, repeats little and can account for all: %s, at %s after %d records',
    { timeout: 300_000 },
    async ([name, point, handled]) => {
      const setup = setups[name] as Setup
      const { binding, mayRepeat } = setup
      await using kafka = createKafkaClient({ brokers: place.bootstrap })
      const slug = `${name} ${point} ${handled}`.replaceAll(' ', '-')
      await using scene = await ConnectorScene.open(place, kafka, slug, { binding, partitions, handleMs: 1 })
      await scene.write(
        Array.from({ length: records }, (_, index) => ({ key: `key-${index % keys}`, kind: kindOf(index) })),
      )
      const victim = scene.connector({ point, handled: point === 'assign.end' ? 0 : handled })
      const isRevoked = point.startsWith('revoke')
      // Partitions are revoked only when another member takes them.
      if (isRevoked) await eventually(() => expect(victim.of('HANDLED').length).toBeGreaterThan(handled), patient)
      const rival = isRevoked ? scene.connector() : undefined
      expect(await victim.ended).toEqual({ code: null, signal: 'SIGKILL' })
      const atDeath = await scene.audit()
      expect(atDeath.flatMap(({ broken }) => broken)).toEqual([])

      const heir = rival ?? scene.connector()
      const audit = await scene.settled()
      expect(await heir.terminate()).toEqual({ code: 0, signal: null })
      const { journal } = scene
      const done = new Set(journal.values('OK'))
      expect(scene.values('OK', 'LATER').filter((value) => !done.has(value))).toEqual([])
      expect([...new Set(await scene.deadLetters())].toSorted()).toEqual(scene.values('DEAD').toSorted())
      expect(audit.flatMap(({ broken }) => broken)).toEqual([])
      expectCounts(scene, audit, victim.pid)
      expect(journal.repeatedWithin(heir.pid)).toEqual([])
      const repeats = journal.repeatedDeliveries(victim.pid, heir.pid)
      // With a rival the commits have moved on before they could be read.
      expectFewRepeats(repeats, isRevoked ? undefined : atDeath, mayRepeat)
      if (scene.keepsKeys) expect(journal.disorder(scene.written, [victim.pid])).toEqual([])
      report(`${slug}: ${repeats.flatMap(({ offsets }) => offsets).length} deliveries repeated`)
    },
  )
})
