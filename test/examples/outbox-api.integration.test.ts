import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createListenerRegistry, Outbox } from '@waybill/outbox'
import { createOutboxStore, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../examples/outbox-api/src/app.ts'
import { events } from '../../examples/outbox-api/src/events.ts'
import { openSqliteOrders } from '../../examples/outbox-api/src/orders/sqlite-orders.ts'

const root = join(import.meta.dirname, '../..')
/** What its README says to type: the process that it starts has to be the service itself, or SIGTERM would not reach it. */
async function commandInReadme(): Promise<string[]> {
  const readme = await readFile(join(root, 'examples/outbox-api/README.md'), 'utf8')
  return /```sh\n(?<command>.+)\n```/.exec(readme)?.groups?.['command']?.split(' ') ?? []
}

const started = new Set<ChildProcess>()
// A failed test must not leave its service running.
afterEach(() => {
  for (const child of started) child.kill('SIGKILL')
  started.clear()
})

/** The service in a process of its own, as its README starts it: on the simulated Kafka, whatever this shell exports. */
async function startService(
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly address: string; stop(): Promise<unknown> }> {
  const [program = '', ...args] = await commandInReadme()
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, PORT: '0', KAFKA_BOOTSTRAP: undefined, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.add(child)
  const exited = once(child, 'exit')
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), failure(child, exited)])
  return {
    address: String(line).replace('listening on ', ''),
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      return code
    },
  }
}

async function failure(child: ChildProcess, exited: Promise<unknown[]>): Promise<never> {
  await exited
  throw new Error(`The service ended with ${child.exitCode ?? child.signalCode} before it listened.`)
}

function place(address: string, body: unknown, query = ''): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${address}/orders${query}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function behavesAsTheReadmeSays(environment: NodeJS.ProcessEnv): Promise<void> {
  const first = await startService(environment)
  const { address } = first
  expect((await fetch(`${address}/health/ready`)).status).toBe(200)

  const placed = await place(address, { orderId: 'o-1', total: 4200 }, '?wait=published')
  expect([placed.status, await placed.json()]).toMatchObject([201, { order: { orderId: 'o-1' }, event: 'PUBLISHED' }])
  const repeated = await place(address, { orderId: 'o-1', total: 4200 }, '?wait=published')
  expect([repeated.status, await repeated.json()]).toMatchObject([200, { event: 'PUBLISHED' }])
  expect((await place(address, { orderId: 'o-1', total: 1 })).status).toBe(409)
  expect((await place(address, { orderId: 'o-2' })).status).toBe(400)
  const committed = await place(address, { orderId: 'o-2', total: 100 })
  expect([committed.status, await committed.json()]).toMatchObject([201, { event: 'COMMITTED' }])
  expect(await first.stop()).toBe(0)

  const second = await startService(environment)
  const { orders } = (await (await fetch(`${second.address}/orders`)).json()) as { orders: { orderId: string }[] }
  expect(orders.map(({ orderId }) => orderId)).toEqual(['o-2', 'o-1'])
  // What the first process did not get to, the second publishes.
  const again = await place(second.address, { orderId: 'o-2', total: 100 }, '?wait=published')
  expect([again.status, await again.json()]).toMatchObject([200, { event: 'PUBLISHED' }])
  expect(await second.stop()).toBe(0)
  await expect(fetch(`${second.address}/health/live`)).rejects.toThrow('fetch failed')
}

describe('the outbox API', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waybill-outbox-api-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('places orders with their events, answers when they are published, and stops in order', async () => {
    await behavesAsTheReadmeSays({ DATABASE_URL: undefined, DATABASE_FILE: join(folder, 'orders.db') })
  })

  test('says what it knows while nothing is published: on its way, or given up', async () => {
    await using orders = openSqliteOrders(join(folder, 'alone.db'))
    await orders.create()
    await migrate(orders.database)
    const store = createOutboxStore(orders.database)
    // Nobody listens to any event, so what is delivered is DEAD.
    const outbox = Outbox.singleNode({ events, database: orders.database, store, listeners: createListenerRegistry() })
    await using app = createApp({ orders, outbox, publishDeadlineMs: 50 })
    const post = async (): Promise<[number, unknown]> => {
      const body = { orderId: 'o-1', total: 1 }
      const answer = await app.inject({ method: 'POST', url: '/orders?wait=published', body })
      return [answer.statusCode, answer.json()]
    }
    const ready = async (): Promise<number> => (await app.inject('/health/ready')).statusCode

    expect(await post()).toMatchObject([202, { event: 'ON_ITS_WAY' }])
    expect(await ready()).toBe(503)
    await outbox.start()
    expect(await ready()).toBe(200)
    await expect.poll(post, { timeout: 10_000 }).toMatchObject([502, { event: 'DEAD' }])
    await outbox.stop()
  })
})

describeWith('postgres')('the outbox API on PostgreSQL', ({ postgres }) => {
  test('does the same', () => behavesAsTheReadmeSays({ DATABASE_URL: postgres.url }))
})
