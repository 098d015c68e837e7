import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const source = join(import.meta.dirname, '../src')

/** Returns what the files of a layer import: other layers by their name, and packages. */
async function importsOf(layer: string): Promise<ReadonlySet<string>> {
  const files = (await readdir(join(source, layer), { recursive: true })).filter((path) => path.endsWith('.ts'))
  expect(files).not.toEqual([])
  const found = new Set<string>()
  for (const path of files) {
    const text = await readFile(join(source, layer, path), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/(?:from|import) '([^']+)'/g))
      found.add(specifier.startsWith('.') ? layerOf(join(layer, path, '..', specifier)) : specifier)
  }
  return found
}

function layerOf(path: string): string {
  return path.split('/')[0] ?? ''
}

test('S4-001 the domain imports nothing, and the application the domain alone', async () => {
  expect(await importsOf('domain')).toEqual(new Set(['domain']))
  expect(await importsOf('application')).toEqual(new Set(['application', 'domain']))
})

/** From the inside out: a layer imports itself and those before it. */
const layers = ['domain', 'application', 'region', 'load', 'infrastructure', 'interfaces', 'config']

test('S4-001 a layer imports only from those inside it', async () => {
  for (const [at, layer] of layers.entries()) {
    const outside = [...(await importsOf(layer))].filter((one) => layers.indexOf(one) > at)
    expect([layer, outside]).toEqual([layer, []])
  }
  const folders = (await readdir(source, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  expect(folders.map(({ name }) => name).toSorted()).toEqual(layers.toSorted())
})

test('S4-001 interfaces and infrastructure never import each other', async () => {
  const interfaces = await importsOf('interfaces')
  for (const layer of ['infrastructure', 'region', 'load']) expect(interfaces).not.toContain(layer)
  const infrastructure = await importsOf('infrastructure')
  for (const layer of ['interfaces', 'load']) expect(infrastructure).not.toContain(layer)
})

test('S4-003 drivers and SQL are known below infrastructure/sql and in the composition root alone', async () => {
  const drivers = /^(?:pg|mysql2|node:sqlite|@waybill\/(?:sql|outbox))/
  for (const layer of [
    'domain',
    'application',
    'interfaces',
    'load',
    'region',
    'infrastructure/kafka',
    'infrastructure/redis',
  ])
    expect([layer, [...(await importsOf(layer))].filter((one) => drivers.test(one))]).toEqual([layer, []])
  expect(await importsOf('application/port')).toEqual(new Set(['application', 'domain']))
})
