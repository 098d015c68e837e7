/** The same requests through every mount, over real sockets. */

import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { createAdminServer } from '../../src/mount/admin-server.ts'
import { type Admin, createAdmin } from '../../src/mount/create-admin.ts'

const runtime = runtimeWith({ logger: noopLogger })

/** Listens with a host that mounts the admin below `/ops`, and returns its URL. */
type Mount = (admin: Admin, stack: AsyncDisposableStack) => Promise<string>

async function listen(server: Server, stack: AsyncDisposableStack): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const mounts: Readonly<Record<string, Mount>> = {
  async 'node:http'(admin, stack) {
    const server = createServer((incoming, outgoing) => {
      incoming.url = incoming.url?.replace(/^\/ops/, '')
      admin.listener(incoming, outgoing)
    })
    return `${await listen(server, stack)}/ops`
  },
  async Fastify(admin, stack) {
    const app = fastify()
    await app.register(admin.fastify, { prefix: '/ops' })
    stack.defer(() => app.close())
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/ops`
  },
  async Express(admin, stack) {
    const app = express()
    app.use('/ops', admin.listener)
    app.use(express.json())
    return `${await listen(createServer(app), stack)}/ops`
  },
  async Hono(admin, stack) {
    const app = new Hono()
    app.all('/ops/*', admin.hono('/ops'))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    await new Promise<void>((resolve) => (server.listening ? resolve() : server.once('listening', resolve)))
    stack.defer(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops`
  },
  async Nest(admin, stack) {
    // oxlint-disable-next-line typescript/no-extraneous-class -- Nest names a module by a class
    class AppModule {}
    Module({})(AppModule)
    const app = await NestFactory.create(AppModule, { bodyParser: false, logger: false })
    app.use('/ops', admin.listener)
    stack.defer(() => app.close())
    await app.listen(0, '127.0.0.1')
    return `${(await app.getUrl()).replace('[::1]', '127.0.0.1')}/ops`
  },
  async 'a server of its own'(admin, stack) {
    const server = stack.use(createAdminServer(admin, { port: 0 }))
    await server.start()
    return server.url
  },
}

async function withMount(mount: Mount, program: (url: string) => Promise<void>): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const sim = createSimCluster({ brokers: 1, runtime })
  const client = stack.use(createKafkaClient({ brokers: sim.brokers, transport: sim.transport('mounts'), runtime }))
  await client.admin.createTopics([{ topic: 'mails', partitions: 1, replication: 1 }])
  const connector = createConnector({
    clusters: { default: client },
    runtime,
    administration: { permits: () => true, auditLog: { write: () => {} } },
    bindings: { mail: { topic: 'mails', groupId: 'mail', handler: () => {} } },
  })
  stack.defer(() => connector.stop({ deadlineMs: 1_000 }))
  await connector.start()
  const admin = stack.use(createAdmin({ connector, runtime, auditLog: { write: () => {} } }))
  await program(await mount(admin, stack))
}

const csrf = { 'waybill-csrf': '1', 'content-type': 'application/json' }

describe.each(Object.entries(mounts))('%s', (_name, mount) => {
  test('passes GET, POST with a body, an encoded name, a problem and a stream', () =>
    withMount(mount, async (url) => {
      const list = await fetch(`${url}/eventbus/bindings`)
      expect(list.status).toBe(200)
      expect(list.headers.get('cache-control')).toBe('no-store')
      expect(await list.json()).toMatchObject({ items: [{ name: 'mail', state: 'RUNNING' }] })
      const pause = await fetch(`${url}/eventbus/bindings/default%3Amail/pause`, {
        method: 'POST',
        headers: csrf,
        body: JSON.stringify({ reason: 'why' }),
      })
      expect(await pause.json()).toMatchObject({ outcome: 'APPLIED', instances: [{ state: 'PAUSED' }] })
      const wrong = await fetch(`${url}/eventbus/bindings/default%3Amail/resume`, {
        method: 'POST',
        headers: csrf,
        body: '{"reson":"x"}',
      })
      expect(wrong.status).toBe(400)
      expect(await wrong.json()).toMatchObject({
        violations: [{ path: 'reson', message: 'is unknown; did you mean reason?' }],
      })
      const slash = await fetch(`${url}/eventbus/bindings/a%2Fb`)
      expect(await slash.json()).toMatchObject({ code: 'WAYBILL_BINDING_NOT_FOUND', known: ['mail'] })
      const stream = await fetch(`${url}/eventbus/stream?topics=bindings`)
      expect(stream.headers.get('content-type')).toContain('text/event-stream')
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      const first = await reader.read()
      expect(Buffer.from(first.value ?? []).toString('utf8')).toContain('retry: 3000')
      await reader.cancel()
    }))
})

test('a body that a parser of the host has read is a problem that names the fix', () =>
  withMount(
    async (admin, stack) => {
      const app = express()
      app.use(express.json())
      app.use('/ops', admin.listener)
      return `${await listen(createServer(app), stack)}/ops`
    },
    async (url) => {
      const answer = await fetch(`${url}/eventbus/bindings/default%3Amail/pause`, {
        method: 'POST',
        headers: csrf,
        body: '{}',
      })
      expect(await answer.json()).toMatchObject({ hint: 'Mount the admin before body parsers such as express.json().' })
    },
  ))

test('a body beyond its limit is refused without being read to its end', () =>
  withMount(mounts['node:http'] as Mount, async (url) => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sending = httpRequest(`${url}/eventbus/bindings/default%3Amail/pause`, {
        method: 'POST',
        headers: { ...csrf, 'transfer-encoding': 'chunked' },
      })
      sending.on('response', (response) => {
        resolve(response.statusCode)
        sending.destroy()
      })
      sending.on('error', reject)
      sending.write(`{"reason":"${'x'.repeat(200_000)}`)
    })
    expect(status).toBe(413)
  }))

test('a server of its own refuses an address beyond this machine without an identity', () => {
  const admin = createAdmin({ runtime })
  expect(() => createAdminServer(admin, { host: '0.0.0.0' })).toThrow('without an identity')
  expect(() => createAdminServer(admin, { host: '0.0.0.0', isIdentified: true })).not.toThrow()
})
