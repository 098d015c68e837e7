import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noopLogger } from '@waybill/core'
import { demoKeys, demoToken } from '../src/config/demo-tokens.ts'
import { createOrderApp, type OrderApp } from '../src/config/order-app.ts'
import type { Resources } from '../src/config/resources.ts'
import { readSettings, type Settings } from '../src/config/settings.ts'

/** An answer of the service. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- The tests look at whatever came.
  readonly body: any
}

/** A caller of the service. */
export type Client = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

/** A running instance, and callers of it. */
export interface OrderWorld extends AsyncDisposable {
  readonly app: OrderApp
  readonly url: string
  readonly settings: Settings
  readonly keyFile: string
  as(subject: string, role?: string): Promise<Client>
  /** Sends a request with this token, or without one. */
  withToken(token: string | undefined): Client
}

export const cart = { items: [{ sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }], currency: 'EUR' }

/** Starts an instance on open resources, which it closes in the end. */
export async function startOrders<Tx>(
  resources: Resources<Tx>,
  environment: Readonly<Record<string, string>> = {},
): Promise<OrderWorld> {
  const settings = readSettings(environment)
  const folder = await mkdtemp(join(tmpdir(), 'waybill-order-keys-'))
  const keyFile = join(folder, 'key.json')
  const app = await createOrderApp(resources, { settings, keys: await demoKeys(keyFile), logger: noopLogger, port: 0 })
  await app.start()
  const url = `http://127.0.0.1:${(app.http.server.address() as AddressInfo).port}`
  const withToken =
    (token: string | undefined): Client =>
    async (method, path, body, headers = {}) => {
      const sent = typeof body === 'string' ? body : JSON.stringify(body)
      const answer = await fetch(url + path, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: sent }),
      })
      const text = await answer.text()
      const isJson = answer.headers.get('content-type')?.includes('json') ?? false
      return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
    }
  return {
    app,
    url,
    settings,
    keyFile,
    withToken,
    as: async (subject, role = 'USER') => withToken(await demoToken({ subject, role, ...settings }, keyFile)),
    async [Symbol.asyncDispose]() {
      await app.stop({ deadlineMs: 20_000 })
      await resources[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}
