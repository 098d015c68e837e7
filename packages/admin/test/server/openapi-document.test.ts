import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { createAdmin } from '../../src/mount/create-admin.ts'
import { restPage } from '../support/rest-page.ts'

const runtime = runtimeWith({ logger: noopLogger })
const connector = createConnector({ clusters: {}, runtime })
const document = createAdmin({ connector, runtime }).openApi()

describe('the OpenAPI document', () => {
  test('is the committed one: review a difference like a change of the API', async () => {
    await expect(`${JSON.stringify(document, undefined, 2)}\n`).toMatchFileSnapshot(
      '../../../../etc/admin.openapi.json',
    )
  })

  test('has the version of the package', () => {
    const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
    expect(document.info.version).toBe((JSON.parse(manifest) as { version: string }).version)
  })

  test('is what the reference page says', async () => {
    await expect(restPage(document)).toMatchFileSnapshot('../../../../docs/reference/rest-api.md')
  })

  test('names each operation once, and resolves every reference', () => {
    const text = JSON.stringify(document)
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(Object.keys(document.components.schemas)).toContain(name)
  })

  test('has the paths of the specification', () => {
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(routes).toEqual(
      expect.arrayContaining([
        'POST /eventbus/bindings',
        'DELETE /eventbus/bindings/{name}',
        'POST /eventbus/bindings/{name}/start',
        'POST /eventbus/bindings/{name}/stop',
        'POST /eventbus/bindings/{name}/pause',
        'POST /eventbus/bindings/{name}/resume',
        'GET /eventbus/bindings',
        'GET /eventbus/bindings/{name}',
        'POST /eventbus/bindings/{name}/dlt/replay',
        'POST /eventbus/bindings/{name}/dlt/replay-to-tier',
        'GET /eventbus/bindings/{name}/dlt/stats',
        'DELETE /eventbus/bindings/{name}/dlt',
      ]),
    )
  })
})
