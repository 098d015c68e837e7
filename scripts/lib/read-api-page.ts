import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiPage, type Entry } from './api-page.ts'
import { publicPackages } from './public-packages.ts'

/** The path of the page. */
export const apiPagePath = 'docs/reference/api.md'

/** Makes docs/reference/api.md from the sources and pages of a checkout. */
export function readApiPage(root: string): string {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const pages = ['docs/tutorial', 'docs/how-to', 'docs/reference', 'docs/explanation']
    .flatMap((folder) => globSync(`${folder}/*.md`, { cwd: root }).toSorted())
    .filter((path) => path !== apiPagePath && path !== 'docs/reference/requirements.md')
    .map((path) => ({ path, text: read(path) }))
  return apiPage(readEntries(root), read, pages)
}

/** Entries for authors of transports and packages; etc has their declarations. */
const lowLevel: ReadonlySet<string> = new Set(['@waybill/kafka/wire', '@waybill/core/option'])

/** Lists the entries that applications import. */
export function readEntries(root: string): Entry[] {
  const all = publicPackages(root).flatMap(({ folder, entries }) =>
    entries.map(({ specifier, types }) => ({
      specifier,
      source: `${folder}/${types.replace(/^(?:\.\/)?dist\//, 'src/').replace(/\.d\.ts$/, '.ts')}`,
    })),
  )
  return all.filter(({ specifier }) => !lowLevel.has(specifier))
}
