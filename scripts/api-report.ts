/** `npm run api`: writes the committed snapshot of each public package's API, etc/<package>.api.md. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiReport } from './lib/api-report.ts'
import { publicPackages } from './lib/public-packages.ts'

const root = join(import.meta.dirname, '..')
mkdirSync(join(root, 'etc'), { recursive: true })
for (const each of publicPackages(root)) {
  const report = apiReport(each, (path) => readFileSync(join(root, each.folder, path), 'utf8'))
  const file = `etc/${each.shortName}.api.md`
  writeFileSync(join(root, file), report)
  process.stdout.write(`${file}\n`)
}
