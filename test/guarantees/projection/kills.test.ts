import { createSeededRandom, systemClock } from '@waybill/core/internal'
import { createKafkaClient, type OutRecord } from '@waybill/kafka'
import { describeWith, type KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { DatabaseAddress } from '../outbox/support/open-database.ts'
import { report, scale } from '../support/scale.ts'
import { CreditTotals, creditRecord } from './support/credit-events.ts'
import { ProjectionScene, patient } from './support/projection-scene.ts'

const isWhole = scale === 'WHOLE'
const [accounts, events, kills] = isWhole ? [60, 20_000, 24] : [20, 1_000, 2]
const title = 'I8 S3-009 two groups that race and are killed end with the fold of the events'
const lifeMs = isWhole ? 8_000 : 4_000
/** Where a consumer kills itself: between the COMMIT of the database and that of the group most of all. */
const points = ['handler.after', 'commit.send', 'handler.before', 'commit.acked', 'handler.after', 'dlt.acked'] as const

interface Plan {
  readonly records: readonly OutRecord[]
  /** The version that each account must end at. */
  readonly versions: ReadonlyMap<string, number>
  /** The values of records that must be dead: those of an account behind its missing event. */
  readonly dead: ReadonlySet<string>
  readonly gaps: readonly string[]
}

/** Draws events of accounts, some of them repeated, and leaves out one event of some accounts. */
async function plan(topic: string, random: () => number): Promise<Plan> {
  const draw = (bound: number): number => Math.floor(random() * bound)
  const [last, versions] = [new Map<string, number>(), new Map<string, number>()]
  const missing = new Map(Array.from({ length: accounts / 10 }, (_, index) => [`a${index * 7}`, 4 + index]))
  const planned: (readonly [string, number])[] = []
  for (let count = 0; count < events; count++) {
    const account = `a${draw(accounts)}`
    const version = (last.get(account) ?? 0) + 1
    last.set(account, version)
    const gap = missing.get(account) ?? Number.POSITIVE_INFINITY
    if (version < gap) versions.set(account, version)
    if (version !== gap) planned.push([account, version])
    const earlier = planned[draw(planned.length)]
    if (random() < 0.1 && earlier !== undefined) planned.push(earlier)
  }
  const records = await Promise.all(planned.map(([account, version]) => creditRecord(topic, account, version)))
  const isDead = planned.map(([account, version]) => version > (missing.get(account) ?? Number.POSITIVE_INFINITY))
  return {
    records,
    versions,
    dead: new Set(records.filter((_, index) => isDead[index]).map(({ value }) => String(value))),
    gaps: [...missing.keys()].toSorted(),
  }
}

/** A consumer with small batches, so that there is much to be killed between. */
function member(groupId: string) {
  return { does: 'PROJECT', groupId, revisions: [1], maxPollRecords: 50 } as const
}

async function race(place: KafkaPlace, address: DatabaseAddress): Promise<void> {
  const seed = systemClock.now() % 1_000_000
  const random = createSeededRandom(seed)
  await using kafka = createKafkaClient({ brokers: place.bootstrap })
  await using scene = await ProjectionScene.create(place, kafka, address, { name: address.dialect, partitions: 4 })
  const { records, versions, dead, gaps } = await plan(scene.topic, random)
  let killed = 0
  const groups = ['one', 'other'].map((name) => `${scene.topic}-${name}`)
  /** Consumes as one group: each process but the last one dies. */
  const consume = async (groupId: string): Promise<void> => {
    for (let life = 0; life < kills; life++) {
      const killAt = { point: points[life % points.length] as string, batches: 1 + Math.floor(random() * 12) }
      const child = scene.process({ ...member(groupId), killAt })
      // One that does not reach its failpoint is killed wherever it is.
      const late = eventually(() => expect(isWritten).toBe(true), { deadlineMs: lifeMs, everyMs: 100 }).catch(() => {})
      await Promise.race([child.ended, late])
      await child.kill()
      killed++
    }
    scene.process(member(groupId))
  }
  let isWritten = false
  const write = async (): Promise<void> => {
    const size = Math.ceil(records.length / kills)
    for (let at = 0; at < records.length; at += size) {
      await scene.write(records.slice(at, at + size))
      const wanted = killed + 1
      await eventually(() => expect(killed >= Math.min(wanted, kills)).toBe(true), patient)
    }
    isWritten = true
  }
  await Promise.all([write(), ...groups.map((group) => consume(group))])
  await scene.committed(...groups)

  const totals = new CreditTotals()
  const wanted = [...versions].map(([account, version]) => ({ account, version, total: totals.at(account, version) }))
  expect({ seed, rows: await scene.rows() }).toEqual({
    seed,
    rows: wanted.toSorted((a, b) => (a.account < b.account ? -1 : 1)),
  })
  expect(await scene.quarantined(1)).toEqual(gaps)
  expect([...(await scene.dead())].toSorted()).toEqual([...dead].toSorted())
  report(
    `${address.dialect}: ${records.length} records, ${killed} kills, ${gaps.length} keys quarantined (seed ${seed})`,
  )
}

const options = { timeout: 900_000 }

describeWith('kafka', 'postgres')('a projection on PostgreSQL', ({ kafka, postgres }) => {
  test(title, options, () => race(kafka, { dialect: 'postgres', url: postgres.url }))
})

describeWith('kafka', 'mysql')('a projection on MariaDB', ({ kafka, mysql }) => {
  test(title, options, () => race(kafka, { dialect: 'mysql', url: mysql.url }))
})
