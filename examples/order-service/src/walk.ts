/** Walks through the life of an order over HTTP, and tells what it sees. */

import { setTimeout as sleep } from 'node:timers/promises'
import { demoToken } from './config/demo-tokens.ts'
import type { OrderApp } from './config/order-app.ts'
import type { Settings } from './config/settings.ts'

interface Answer {
  readonly status: number
  readonly body: { readonly id?: string; readonly status?: string; readonly code?: string; readonly message?: string }
  readonly isReplay: boolean
}

const cart = { items: [{ sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }], currency: 'EUR' }

/** @throws Error if a step ends otherwise than it should */
export async function walk(app: OrderApp, url: string, settings: Settings, say: (text: string) => void): Promise<void> {
  const [alice, bob] = await Promise.all(
    ['alice', 'bob'].map((subject) => demoToken({ subject, role: 'USER', ...settings })),
  )
  const as = (token: string | undefined) => async (method: string, path: string, body?: object, key?: string) => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    if (key !== undefined) headers['x-idempotency-key'] = key
    const sent = body === undefined ? null : JSON.stringify(body)
    const answer = await fetch(url + path, { method, headers, body: sent })
    const isReplay = answer.headers.get('idempotency-replayed') === 'true'
    return { status: answer.status, body: (await answer.json()) as Answer['body'], isReplay }
  }
  const [byAlice, byBob] = [as(alice), as(bob)]
  const step = (text: string, { status, body }: Answer, wanted: number): void => {
    if (status !== wanted) throw new Error(`${text}: ${status} ${JSON.stringify(body)} instead of ${wanted}`)
    say(`${text.padEnd(46)} ${status} ${body.status ?? body.code ?? ''}${status < 400 ? '' : `: ${body.message}`}`)
  }

  const key = `walk-${Date.now()}`
  const created = await byAlice('POST', '/orders', cart, key)
  step('Alice places an order', created, 201)
  const { id } = created.body
  const repeat = await byAlice('POST', '/orders', cart, key)
  step('The same request again, the same order', repeat, 201)
  if (!repeat.isReplay || repeat.body.id !== id) throw new Error('The repeat created a second order.')
  step('The same key with another cart', await byAlice('POST', '/orders', { ...cart, currency: 'USD' }, key), 422)
  step("Bob looks for Alice's order", await byBob('GET', `/orders/${id}`), 404)
  step("Bob cancels Alice's order", await byBob('POST', `/orders/${id}/cancel`), 403)
  step('The order is shipped', await byAlice('PATCH', `/orders/${id}/status`, { status: 'SHIPPED' }), 200)
  step('It is too late to cancel', await byAlice('POST', `/orders/${id}/cancel`), 409)
  await published(app)
  say('Its event left the outbox for Kafka.')
}

/** Resolves when the outbox holds nothing that waits. */
async function published({ pressure }: OrderApp): Promise<void> {
  while ((await pressure.readNow()) !== 'NORMAL' || pressure.readings['outbox.backlog']?.value !== 0) await sleep(50)
}
