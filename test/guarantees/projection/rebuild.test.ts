import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import { createProjectionStore } from '@waybill/sql'
import { describeWith, type KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { ServerAddress } from '../outbox/support/open-database.ts'
import type { Child } from '../support/child.ts'
import { report, scale } from '../support/scale.ts'
import { CreditTotals, creditRecord } from './support/credit-events.ts'
import { ProjectionScene } from './support/projection-scene.ts'
import type { ProjectionMessage } from './support/projection-task.ts'

const isWhole = scale === 'WHOLE'
const accounts = isWhole ? 20_000 : 1_000
/** Events of each account before the rebuild begins. */
const depth = isWhole ? { postgres: 50, mysql: 10 } : { postgres: 12, mysql: 12 }
const perSecond = 500
const everyMs = 100
const partitions = 8
const rowsPerLook = 100
const patient = { deadlineMs: 900_000, everyMs: 100 }
const title =
  'I8 a rebuild that is killed twice while events arrive switches without a wrong or missing row for any reader'

const nameOf = (number: number): string => `a${String(number).padStart(6, '0')}`

/** Writes events of accounts in turn, at a constant rate, until it is stopped. */
class Arrivals {
  /** Events written. */
  count: number
  readonly #scene: ProjectionScene
  readonly #over = new AbortController()
  #running = Promise.resolve()

  constructor(scene: ProjectionScene) {
    this.#scene = scene
    this.count = 0
  }

  /** Writes so many events as fast as possible. */
  async fill(events: number): Promise<void> {
    for (const end = this.count + events; this.count < end; ) await this.#write(Math.min(5_000, end - this.count))
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#running
  }

  /** Returns the last version of an account. */
  versionOf(number: number): number {
    return Math.floor(this.count / accounts) + (number < this.count % accounts ? 1 : 0)
  }

  async #write(events: number): Promise<void> {
    const { topic } = this.#scene
    const numbers = Array.from({ length: events }, (_, index) => this.count + index)
    await this.#scene.write(
      await Promise.all(
        numbers.map((number) => creditRecord(topic, nameOf(number % accounts), Math.floor(number / accounts) + 1)),
      ),
    )
    this.count += events
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const pause = systemTimers.sleep(everyMs, this.#over.signal).catch(() => {})
      await this.#write((perSecond * everyMs) / 1_000)
      await pause
    }
  }
}

/** Reads some rows of the view all the time. Each must be there, be the fold of its version, and never go back. */
class Reader {
  rows = 0
  readonly wrong: string[] = []
  readonly #scene: ProjectionScene
  readonly #totals = new CreditTotals()
  readonly #seen = new Map<string, number>()
  #isOver = false
  readonly #running: Promise<void>

  constructor(scene: ProjectionScene) {
    this.#scene = scene
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #run(): Promise<void> {
    for (let at = 0; !this.#isOver && this.wrong.length < 10; at = (at + 7_919) % accounts) {
      const names = Array.from({ length: rowsPerLook }, (_, index) => nameOf((at + index * 13) % accounts))
      try {
        this.#judge(names, await this.#scene.rows(names))
      } catch (error) {
        this.wrong.push(String(error))
      }
      await systemTimers.sleep(1)
    }
  }

  #judge(names: readonly string[], rows: Awaited<ReturnType<ProjectionScene['rows']>>): void {
    const found = new Map(rows.map((row) => [row.account, row]))
    for (const account of names) {
      const row = found.get(account)
      if (row === undefined) this.wrong.push(`${account} is missing`)
      else if (row.total !== this.#totals.at(account, row.version))
        this.wrong.push(`${account} has ${row.total} at version ${row.version}`)
      else if (row.version < (this.#seen.get(account) ?? 0)) this.wrong.push(`${account} went back to ${row.version}`)
      this.#seen.set(account, row?.version ?? 0)
      this.rows++
    }
  }
}

async function rebuildUnderLoad(place: KafkaPlace, address: ServerAddress): Promise<void> {
  await using kafka = createKafkaClient({ brokers: place.bootstrap })
  await using scene = await ProjectionScene.create(place, kafka, address, {
    name: `rebuild-${address.dialect}`,
    partitions,
  })
  const groupId = `${scene.topic}-group`
  const arrivals = new Arrivals(scene)
  await arrivals.fill(accounts * depth[address.dialect])
  const former = scene.process({ does: 'PROJECT', groupId, revisions: [1] })
  await scene.committed(groupId)
  // The release with both revisions replaces the former one.
  const live = [1, 2].map(() => scene.process({ does: 'PROJECT', groupId, revisions: [2, 1] }))
  for (const child of live) await eventually(() => expect(child.of('RUNNING').length).toBe(1), patient)
  expect(await former.terminate()).toEqual({ code: 0, signal: null })

  arrivals.start()
  const reader = new Reader(scene)
  const startedAt = performance.now()
  const rebuilding = (): Child<ProjectionMessage> => scene.process({ does: 'REBUILD', groupId, revisions: [2, 1] })
  /** Kills a rebuild once only this share of the records that it found is left. */
  const killedAt = async (share: number): Promise<void> => {
    const child = rebuilding()
    const most = accounts * depth[address.dialect]
    await eventually(
      () => {
        const last = child.of('BUILT').at(-1)
        expect(last?.remaining ?? most).toBeLessThan(most * share)
      },
      { ...patient, everyMs: 20 },
    )
    await child.kill()
  }
  await killedAt(0.9)
  await killedAt(0.5)
  const last = rebuilding()
  await eventually(() => expect(last.of('BUILT').at(-1)?.state).toBe('LIVE'), patient)
  expect(await last.ended).toEqual({ code: 0, signal: null })
  const seconds = Math.round((performance.now() - startedAt) / 1_000)

  // Readers and writers go on for a while on the new table.
  const written = arrivals.count
  await eventually(() => expect(arrivals.count).toBeGreaterThan(written + 2_000), patient)
  await arrivals.stop()
  await scene.committed(groupId)
  await reader.stop()
  expect(reader.wrong).toEqual([])
  const builds = await createProjectionStore(scene.open.database).builds('credit_total')
  expect(builds.map(({ revision, state }) => `${revision} ${state}`)).toEqual(['1 RETIRED', '2 LIVE'])
  const totals = new CreditTotals()
  const rows = await scene.rows()
  expect(rows.length).toBe(accounts)
  const wrong = rows.filter(({ account, version, total }, number) => {
    return account !== nameOf(number) || version !== arrivals.versionOf(number) || total !== totals.at(account, version)
  })
  expect(wrong).toEqual([])
  expect(await scene.dead()).toEqual(new Set())
  for (const child of live) expect(await child.terminate()).toEqual({ code: 0, signal: null })
  report(
    `${address.dialect}: ${arrivals.count} events, switched after ${seconds} s and two kills, ${reader.rows} rows read meanwhile`,
  )
}

const options = { timeout: 1_800_000 }

describeWith('kafka', 'postgres')('a rebuild on PostgreSQL', ({ kafka, postgres }) => {
  test(title, options, () => rebuildUnderLoad(kafka, { dialect: 'postgres', url: postgres.url }))
})

if (isWhole)
  describeWith('kafka', 'mysql')('a rebuild on MariaDB', ({ kafka, mysql }) => {
    test(title, options, () => rebuildUnderLoad(kafka, { dialect: 'mysql', url: mysql.url }))
  })
