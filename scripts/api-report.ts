/**
 * `npm run api`: writes the committed snapshot of each public package's API, etc/<package>.api.md, and the page that lists
 * every exported name, docs/reference/api.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiReport } from './lib/api-report.ts'
import { publicPackages } from './lib/public-packages.ts'
import { apiPagePath, readApiPage } from './lib/read-api-page.ts'

const root = join(import.meta.dirname, '..')
mkdirSync(join(root, 'etc'), { recursive: true })
for (const each of publicPackages(root))
  write(
    `etc/${each.shortName}.api.md`,
    apiReport(each, (path) => readFileSync(join(root, each.folder, path), 'utf8')),
  )
write(apiPagePath, readApiPage(root))

function write(file: string, text: string): void {
  writeFileSync(join(root, file), text)
  process.stdout.write(`${file}\n`)
}
