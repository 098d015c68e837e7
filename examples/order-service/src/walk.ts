/** Walks through the life of an order over HTTP, and prints each step. */

import { setTimeout as sleep } from 'node:timers/promises'
import { demoToken } from './config/demo-tokens.ts'
import type { OrderApp } from './config/order-app.ts'
import type { Resources } from './config/resources.ts'
import type { Settings } from './config/settings.ts'

/** The instance that the walk visits. */
export interface WalkOptions<Tx> {
  readonly app: OrderApp
  readonly url: string
  readonly resources: Resources<Tx>
  readonly settings: Settings
  /** Fails one dependency of the region, or heals it. */
  readonly drill: (isFailing: boolean) => void
  readonly say: (text: string) => void
}

interface Answer {
  readonly status: number
  readonly body: { readonly id?: string; readonly status?: string; readonly code?: string; readonly message?: string }
  readonly isReplay: boolean
}

type Client = (method: string, path: string, body?: object, key?: string) => Promise<Answer>

const cart = { items: [{ sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }], currency: 'EUR' }

/** @throws Error if a step ends otherwise than it should */
export async function walk<Tx>({ app, url, resources, settings, drill, say }: WalkOptions<Tx>): Promise<void> {
  const clientOf = async (subject: string): Promise<Client> =>
    client(url, await demoToken({ subject, role: 'USER', ...settings }))
  const [alice, bob] = await Promise.all([clientOf('alice'), clientOf('bob')])
  const step = (text: string, { status, body }: Answer, wanted: number): void => {
    if (status !== wanted) throw new Error(`${text}: ${status} ${JSON.stringify(body)} instead of ${wanted}`)
    say(`${text.padEnd(46)} ${status} ${body.status ?? body.code ?? ''}${status < 400 ? '' : `: ${body.message}`}`)
  }

  say('An order, its repeats, and who may change it')
  const key = `walk-${Date.now()}`
  const created = await alice('POST', '/orders', cart, key)
  step('  Alice places an order', created, 201)
  const { id = '' } = created.body
  const repeat = await alice('POST', '/orders', cart, key)
  step('  the same request again, the same order', repeat, 201)
  if (!repeat.isReplay || repeat.body.id !== id) throw new Error('The repeat created a second order.')
  step('  the same key with another cart', await alice('POST', '/orders', { ...cart, currency: 'USD' }, key), 422)
  step("  Bob looks for Alice's order", await bob('GET', `/orders/${id}`), 404)
  step("  Bob cancels Alice's order", await bob('POST', `/orders/${id}/cancel`), 403)
  step('  the order is shipped', await alice('PATCH', `/orders/${id}/status`, { status: 'SHIPPED' }), 200)
  step('  it is too late to cancel', await alice('POST', `/orders/${id}/cancel`), 409)

  say('Its event, and a duplicate of it')
  await until(async () => (await processed(resources, id)) === 1)
  say('  the event was published, and processed once')
  const before = duplicatesOf(app)
  await sendAgain(resources, id)
  await until(async () => duplicatesOf(app) > before)
  say(`  the same event again: skipped, processed ${await processed(resources, id)} time`)

  say('A region that loses a dependency')
  drill(true)
  for (let round = 1; app.failover.mode === 'ACTIVE'; round++) {
    await app.checkRegion()
    say(`  round ${round} of checks fails: the region is ${app.failover.mode}`)
  }
  step('  a new order is rejected', await alice('POST', '/orders', cart), 503)
  step('  orders can be read', await alice('GET', `/orders/${id}`), 200)
  drill(false)
  for (let round = 1; app.failover.mode === 'PASSIVE'; round++) {
    await app.checkRegion()
    say(`  round ${round} of checks is good: the region is ${app.failover.mode}`)
  }
  const late = await alice('POST', '/orders', cart)
  step('  orders are taken again', late, 201)
  await until(async () => (await processed(resources, late.body.id ?? '')) === 1)
  say('  and their events are processed')
}

function client(url: string, token: string): Client {
  return async (method, path, body, key) => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    if (key !== undefined) headers['x-idempotency-key'] = key
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(url + path, { method, headers, ...sent })
    const isReplay = answer.headers.get('idempotency-replayed') === 'true'
    return { status: answer.status, body: (await answer.json()) as Answer['body'], isReplay }
  }
}

/** Returns how often the event of an order had its effect. */
async function processed<Tx>({ orders }: Resources<Tx>, id: string): Promise<number> {
  const [row] = await orders.reads.query('SELECT COUNT(*) AS effects FROM order_regions WHERE order_id = ?', [id])
  return Number(row?.['effects'])
}

function duplicatesOf({ metrics }: OrderApp): number {
  let count = 0
  for (const { name, labels, value } of metrics.read())
    if (name === 'eventbus.records.skipped' && labels['cause'] === 'DUPLICATE') count += value
  return count
}

/** Publishes the event of an order once more, as a producer does that missed the answer to its first attempt. */
async function sendAgain<Tx>({ orders, kafka, topic }: Resources<Tx>, orderId: string): Promise<void> {
  const [row] = await orders.reads.query('SELECT event_id FROM outbox_event WHERE aggregate_id = ?', [orderId])
  const headers = [
    ['id', Buffer.from(String(row?.['event_id']))],
    ['eventType', Buffer.from('ORDER_CREATED')],
    ['eventVersion', Buffer.from('2')],
    ['occurredAt', Buffer.from(new Date().toISOString())],
  ] as const
  const value = Buffer.from(JSON.stringify({ orderId, region: 'eu-1', version: 0 }))
  await kafka.producer('EVENT').send({ topic, key: Buffer.from(orderId), value, headers: [...headers] })
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error('The walk waited for a minute in vain.')
    await sleep(50)
  }
}
