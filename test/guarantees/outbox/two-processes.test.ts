import { systemClock, systemTimers } from '@waybill/core/internal'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { report, scale } from '../support/scale.ts'
import type { DatabaseAddress } from './support/open-database.ts'
import { type Node, OutboxScene, type SceneOptions } from './support/outbox-scene.ts'

/** The number of events, and the rate of kills. */
interface Load {
  readonly events: number
  /** Starts when both processes run. */
  readonly killEveryMs: number
  /** Transactions of one event each, per process. */
  readonly lanes: number
  readonly everyMs: number
}

const short: Load = { events: 400, killEveryMs: 300, lanes: 2, everyMs: 2 }
const onPostgres: Load = scale === 'WHOLE' ? { events: 50_000, killEveryMs: 5_000, lanes: 8, everyMs: 10 } : short
const onMysql: Load = { events: 10_000, killEveryMs: 5_000, lanes: 4, everyMs: 20 }

/** Long compared to a pause of a process on a busy machine, which must not lose its leases. */
const leaseMs = scale === 'WHOLE' ? 10_000 : 3_000
/** A kill repeats at most what was delivered and not yet marked as finished: eight listeners and one batch. */
const mayRepeatPerKill = 2_000 + 8

const setups: readonly (readonly [string, SceneOptions])[] = [
  ['rows are claimed', { mode: 'multiNode', leaseMs }],
  ['in the order of keys', { mode: 'keyed', leaseMs }],
]

/** Lets both write and deliver until the book is full; one after the other is killed and replaced by a new one. */
async function writeUnderKills(scene: OutboxScene, { events, killEveryMs, lanes, everyMs }: Load): Promise<number> {
  const node = (): Node => scene.node({ until: events, lanes, events: 1, everyMs })
  const nodes = [node(), node()]
  await Promise.all(nodes.map((one) => scene.running(one)))
  let kills = 0
  while ((await scene.book.count()) < events) {
    await systemTimers.sleep(killEveryMs)
    const victim = kills++ % nodes.length
    await scene.kill(nodes[victim] as Node)
    const next = node()
    nodes[victim] = next
    await scene.running(next)
  }
  await scene.settled(events, nodes, 240_000)
  for (const one of nodes) await scene.end(one)
  return kills
}

async function run(address: DatabaseAddress, [name, options]: (typeof setups)[number], load: Load): Promise<void> {
  await using scene = await OutboxScene.open(address, options)
  const since = systemClock.now()
  const kills = await writeUnderKills(scene, load)
  const { rows, journal } = await scene.expectNothingWrong()
  const { repeated } = journal
  expect(kills).toBeGreaterThan(0)
  expect(repeated.length).toBeLessThanOrEqual(kills * mayRepeatPerKill)
  report(
    `${address.dialect}, ${name}: ${rows.length} events committed, ${journal.values('ROLLED_BACK').length} rolled back, ` +
      `${kills} kills in ${Math.round((systemClock.now() - since) / 1_000)} s, ${repeated.length} deliveries repeated`,
  )
}

const title = 'deliver all that was committed, each event by one of them at a time: %s'

describeWith('postgres')('two processes on one table of PostgreSQL, of which one is killed now and then', (place) => {
  test.for(setups)(title, { timeout: 600_000 }, (setup) =>
    run({ dialect: 'postgres', url: place.postgres.url }, setup, onPostgres),
  )
})

if (scale === 'WHOLE')
  describeWith('mysql')('two processes on one table of MariaDB, of which one is killed now and then', (place) => {
    test.for(setups)(title, { timeout: 600_000 }, (setup) =>
      run({ dialect: 'mysql', url: place.mysql.url }, setup, onMysql),
    )
  })
else test('two processes on one table of MariaDB', (context) => context.skip('it takes minutes: npm run guarantees'))
