import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createKafkaClient } from '@waybill/kafka'
import pg from 'pg'

const { KAFKA_BOOTSTRAP = '127.0.0.1:9092' } = process.env
const { DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env

const main = fileURLToPath(import.meta.resolve('@waybill/example-order-service/main'))
/** Clock ticks of the kernel in a second. */
const ticksPerSecond = 100

/** The longest time in which the events of a turn must have had their effects. */
const settleMs = 60_000

interface Instance {
  readonly instanceId: number
  readonly port: number
  child: ChildProcess
}

/** Two instances of the service on a schema and a topic of their own. */
export class OrderFleet implements AsyncDisposable {
  readonly name: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #instances: Instance[] = []
  readonly #pool: pg.Pool
  /** CPU of instances that have ended. */
  #endedCpuMs = 0

  private constructor(name: string, protection: 'ON' | 'OFF') {
    this.name = name
    this.#pool = new pg.Pool({ connectionString: DATABASE_URL, options: `-c search_path=${name}`, max: 2 })
    this.#environment = {
      ORDERS_SCHEMA: name,
      ORDERS_TOPIC: name,
      ORDERS_PROTECTION: protection,
      ORDERS_INSTANCE_COUNT: '2',
      NODE_NO_WARNINGS: '1',
    }
  }

  static async start(protection: 'ON' | 'OFF', firstPort: number): Promise<OrderFleet> {
    const fleet = new OrderFleet(`bench_orders_${Date.now()}_${protection.toLowerCase()}`, protection)
    await fleet.#pool.query(`CREATE SCHEMA ${fleet.name}`)
    for (const instanceId of [0, 1]) {
      const port = firstPort + instanceId
      fleet.#instances.push({ instanceId, port, child: await fleet.#spawn(instanceId, port) })
    }
    return fleet
  }

  get urls(): readonly string[] {
    return this.#instances.map(({ port }) => `http://127.0.0.1:${port}`)
  }

  /** Kills an instance as a crash does, and starts it again after a while, as its orchestrator would. */
  async crash(instanceId: number, restartAfter: Promise<unknown>): Promise<void> {
    const instance = this.#instances[instanceId] as Instance
    this.#endedCpuMs += await cpuMsOf(instance.child)
    const ended = once(instance.child, 'exit')
    instance.child.kill('SIGKILL')
    await Promise.all([ended, restartAfter])
    instance.child = await this.#spawn(instance.instanceId, instance.port)
  }

  /** Returns the CPU time of all instances so far. */
  async cpuMs(): Promise<number> {
    const each = await Promise.all(this.#instances.map(({ child }) => cpuMsOf(child)))
    return each.reduce((sum, one) => sum + one, this.#endedCpuMs)
  }

  /** Resolves once every event was published and had its effect. */
  async settle(): Promise<void> {
    const deadline = performance.now() + settleMs
    for (;;) {
      const events = await this.count('outbox_event')
      const waiting =
        (await this.count('outbox_event WHERE status <> 1')) + events - (await this.count('order_regions'))
      if (waiting === 0) return
      if (performance.now() > deadline) throw new Error(`Events of ${this.name} had no effect within ${settleMs} ms.`)
      await sleep(100)
    }
  }

  async count(what: string): Promise<number> {
    return Number((await this.#pool.query(`SELECT COUNT(*) AS count FROM ${what}`)).rows[0].count)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#instances.map(({ child }) => end(child)))
    await this.#pool.query(`DROP SCHEMA ${this.name} CASCADE`)
    await this.#pool.end()
    await using kafka = createKafkaClient({ brokers: KAFKA_BOOTSTRAP.split(',') })
    const topics = await kafka.admin.listTopics()
    await kafka.admin.deleteTopics(topics.filter((topic) => topic.startsWith(this.name)))
  }

  async #spawn(instanceId: number, port: number): Promise<ChildProcess> {
    const child = spawn(
      process.execPath,
      ['--conditions=@waybill/source', main, 'serve', '--real', '--port', String(port)],
      {
        env: { ...process.env, ...this.#environment, ORDERS_INSTANCE_ID: String(instanceId) },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`An instance of ${this.name} ended with ${code} before it was ready.`)
    })
    await Promise.race([once(child.stdout, 'data'), ended])
    ended.catch(() => {}) // It is ended on purpose later.
    return child
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Returns user and system time of a process, from the kernel. */
async function cpuMsOf({ pid }: ChildProcess): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksPerSecond
}
