import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const built = join(import.meta.dirname, '..', '..', 'dist', 'console')
/** The first chunk: scripts and styles that every page loads. */
const firstBudget = 120 * 1024

test('the first page loads less than 120 KiB, and has no inline script, style or data URL', async () => {
  const html = await readFile(join(built, 'index.html'), 'utf8')
  const first = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path = '']) => path)
  expect(first.some((path) => path.endsWith('.js'))).toBe(true)
  expect(first.some((path) => path.endsWith('.css'))).toBe(true)
  const sizes = await Promise.all(first.map(async (path) => gzipSync(await readFile(join(built, path))).length))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(firstBudget)
  expect(html).not.toMatch(/<style|style="|\son\w+="|data:|<script(?![^>]*\ssrc=)/)
})

test('no file names an address of another server', async () => {
  const names = await readdir(join(built, 'assets'))
  const scripts = names.filter((name) => /\.(?:js|css)$/.test(name))
  expect(scripts).not.toEqual([])
  for (const name of scripts) {
    const text = await readFile(join(built, 'assets', name), 'utf8')
    // Names of XML, never loaded.
    const addresses = [...text.matchAll(/https?:\/\/[\w./-]+/g)].map(([address]) => address)
    expect({ name, addresses: addresses.filter((one) => !one.startsWith('http://www.w3.org/')) }).toEqual({
      name,
      addresses: [],
    })
  }
})
