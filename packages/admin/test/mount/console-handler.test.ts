import { Buffer } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { createMemoryLogger } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { AdminResponse } from '../../src/http/admin-response.ts'
import { consoleFile } from '../../src/mount/console-files.ts'
import { ConsoleHandler } from '../../src/mount/console-handler.ts'

const html = '<link href="./assets/main.css"><script type="module" src="./assets/main.js"></script>'
const script = 'export const answer = 42;'.repeat(40)

const filesOf = async () =>
  new Map([
    ['/index.html', await consoleFile('/index.html', Buffer.from(html))],
    ['/assets/main.js', await consoleFile('/assets/main.js', Buffer.from(script))],
  ])

const page = { accept: 'text/html,application/xhtml+xml' }

function ask(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  more: { readonly method?: string; readonly originalPath?: string } = {},
): Promise<AdminResponse | undefined> {
  const handler = new ConsoleHandler(filesOf, (path) => path === '/metrics', createMemoryLogger())
  return handler.answer({ method: 'GET', url, headers, remoteAddress: '10.0.0.9', ...more })
}

const textOf = (answer: AdminResponse | undefined): string => Buffer.from(answer?.body as Uint8Array).toString('utf8')

describe('the console’s files', () => {
  test('are cached forever by the hash in their name, and sent compressed to browsers that ask for it', async () => {
    const plain = await ask('/assets/main.js')
    expect(plain?.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(textOf(plain)).toBe(script)
    const small = await ask('/assets/main.js', { 'accept-encoding': 'gzip, br' })
    expect(small?.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(small?.body as Uint8Array).toString()).toBe(script)
  })

  test('are not sent again to a browser that has them', async () => {
    const first = await ask('/assets/main.js')
    const again = await ask('/assets/main.js', { 'if-none-match': first?.headers['etag'] ?? '' })
    expect(again).toMatchObject({ status: 304, body: '' })
  })

  test('that do not exist, also by a path that leaves the folder, are left to the API', async () => {
    expect(await ask('/assets/gone.js')).toBeUndefined()
    expect(await ask('/assets/../index.html')).toBeUndefined()
    expect(await ask('/assets/%2e%2e/index.html', page)).toBeUndefined()
  })

  test('that cannot be read are logged, and read again at the next request', async () => {
    const logger = createMemoryLogger()
    let calls = 0
    const read = async () => {
      if (calls++ === 0) throw new Error('EMFILE')
      return filesOf()
    }
    const handler = new ConsoleHandler(read, () => false, logger)
    const request = { method: 'GET', url: '/', headers: {}, remoteAddress: '' }
    expect(await handler.answer(request)).toBeUndefined()
    expect(logger.lines).toMatchObject([{ level: 'ERROR', text: 'Files of the console not read' }])
    expect(await handler.answer(request)).toMatchObject({ status: 200 })
  })
})

describe('the page', () => {
  test('is answered at the mount path and at every address below it that a browser opens', async () => {
    expect(textOf(await ask('/'))).toBe(html)
    expect(textOf(await ask('/?q=ship', page))).toBe(html)
    expect(textOf(await ask('/failures', page))).toContain('src="./assets/main.js"')
    expect(textOf(await ask('/bindings/a%2Fb', page))).toContain('src="../assets/main.js"')
    expect(textOf(await ask('/failures/7f3a/x/', page))).toContain('src="../../../assets/main.js"')
  })

  test('is asked for anew each time, and forbids scripts of others and frames', async () => {
    const answer = await ask('/', page)
    expect(answer?.headers['cache-control']).toBe('no-cache')
    expect(answer?.headers['content-security-policy']).toMatch(
      /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/,
    )
    expect(answer?.headers['referrer-policy']).toBe('no-referrer')
  })

  test('is not answered for requests of the API, of programs, and of other methods', async () => {
    expect(await ask('/eventbus/gone', page)).toBeUndefined()
    expect(await ask('/metrics', page)).toBeUndefined()
    expect(await ask('/failures', { accept: '*/*' })).toBeUndefined()
    expect(await ask('/', page, { method: 'POST' })).toBeUndefined()
  })

  test('at the mount path without its slash leads to the one with it', async () => {
    const answer = await ask('/?q=x', page, { originalPath: '/team/ops' })
    expect(answer).toMatchObject({ status: 308, headers: { location: './ops/?q=x' } })
    expect(await ask('/', page, { originalPath: '/team/ops/' })).toMatchObject({ status: 200 })
  })
})
