/** The modules that a fresh process loads with each root entry: only what its user needs. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { publicPackages } from '../../scripts/lib/public-packages.ts'
import { repository } from './support/fresh-workspace.ts'
import { run } from './support/run.ts'

/** Our packages that each root entry may load beside its own. */
const siblings: Readonly<Record<string, readonly string[]>> = {
  '@waybill/core': [],
  '@waybill/outbox': ['packages/core'],
  '@waybill/contract': ['packages/core'],
  '@waybill/telemetry': ['packages/core'],
  '@waybill/sql': ['packages/core', 'packages/outbox'],
  '@waybill/kafka': ['packages/core'],
  '@waybill/connector': ['packages/core', 'packages/kafka'],
  '@waybill/projection': ['packages/connector', 'packages/core', 'packages/kafka'],
  '@waybill/admin': ['packages/connector', 'packages/core', 'packages/kafka'],
  '@waybill/sim': ['packages/core', 'packages/kafka'],
  '@waybill/testkit': ['packages/connector', 'packages/core', 'packages/kafka', 'packages/sim'],
}

/** Runs a program in a fresh process and returns the files it loaded, relative to the repository. */
async function filesLoadedBy(program: string): Promise<string[]> {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({
      load(url, context, nextLoad) {
        loaded.add(url)
        return nextLoad(url, context)
      },
    })
    ${program}
    console.log(JSON.stringify([...loaded].filter((url) => url.startsWith('file:'))))
  `
  const args = ['--conditions=@waybill/source', '--no-warnings', '--input-type=module', '-e', script]
  const urls = JSON.parse(await run(process.execPath, args, `${repository}/test/support`)) as string[]
  return urls.map((url) => relative(repository, fileURLToPath(url)))
}

/** `packages/core` of ours, `node_modules/@scope/name` of others. */
function packagesOf(files: readonly string[]): string[] {
  const folder = /^(?:packages\/[^/]+|(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)(?=\/)/
  return [...new Set(files.map((path) => folder.exec(path)?.[0] ?? path))].toSorted()
}

function thirdPartyOf(files: readonly string[]): string[] {
  return packagesOf(files).filter((path) => path.includes('node_modules'))
}

/** A program that encodes one batch. */
function encodeProgram(compression: string): string {
  return `
    const { encodeBatch } = await import('@waybill/kafka/wire')
    encodeBatch([{ key: null, value: Buffer.from('v'), headers: [], timestamp: 0 }], '${compression}')
  `
}

describe('a root entry', () => {
  test.each(publicPackages(repository))(
    'of $name loads no third-party package and no sibling that it does not need',
    async ({ name, folder }) => {
      const allowed = [folder, ...(siblings[name] ?? [])]
      const loaded = packagesOf(await filesLoadedBy(`await import('${name}')`))
      expect(loaded).toContain(folder)
      expect(loaded.filter((each) => !allowed.includes(each))).toEqual([])
    },
  )

  test('of @waybill/sim loads the wire format of the client and not the client', async () => {
    const files = await filesLoadedBy(`await import('@waybill/sim')`)
    const ofKafka = files.filter((path) => path.startsWith('packages/kafka/'))
    expect(ofKafka.filter((path) => !path.startsWith('packages/kafka/src/wire/'))).toEqual([])
  })

  test('of @waybill/testkit loads no conformance suite', async () => {
    const files = await filesLoadedBy(`await import('@waybill/testkit')`)
    expect(files.filter((path) => path.includes('/conformance/'))).toEqual([])
  })
})

describe('compiled code', () => {
  test('for checksums is loaded with the first batch', async () => {
    const [first] = thirdPartyOf(await filesLoadedBy(encodeProgram('NONE')))
    // The native package is optional: WebAssembly replaces it.
    expect(['node_modules/@node-rs/crc32', 'node_modules/@platformatic/wasm-utils']).toContain(first)
  })

  test.each(['LZ4', 'SNAPPY'])('for %s is loaded with the first batch that it compresses', async (compression) => {
    expect(thirdPartyOf(await filesLoadedBy(encodeProgram(compression)))).toContain(
      'node_modules/@platformatic/wasm-utils',
    )
  })

  test.each(['GZIP', 'ZSTD'])('for %s comes with Node', async (compression) => {
    expect(thirdPartyOf(await filesLoadedBy(encodeProgram(compression)))).toEqual(
      thirdPartyOf(await filesLoadedBy(encodeProgram('NONE'))),
    )
  })
})
