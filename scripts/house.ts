/**
 * `npm run house -- [--json] [--source]`: the order of folders, the surface, the words and the cost of importing each
 * package, in numbers; with --source also the cost of importing the TypeScript sources. Exits with 1 when a rule without
 * exceptions is broken: folder cycles, imports against the order, shared names, files outside of listed folders.
 */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readRepository } from '../test/tidy/read-repository.ts'
import { sourceCondition } from '../test/tidy/workspace.ts'
import { brokenRulesOf, countPackages } from './lib/house-count.ts'
import { type CostRow, houseText } from './lib/house-table.ts'
import { measureImports } from './lib/import-cost.ts'

/** Another root holds packages of a test. */
const root = resolve(
  process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? join(import.meta.dirname, '..'),
)

/** Libraries to compare the import costs with. They are measured where they are installed. */
const references = ['@platformatic/kafka', 'kafkajs'].filter((name) => existsSync(join(root, 'node_modules', name)))

const counts = countPackages(readRepository(root))
const names = counts.map(({ name }) => name)
const sourceNames = process.argv.includes('--source') ? names : []
const modules = [undefined, ...references, ...names]
const costs = await measureImports(
  [
    ...modules.map((specifier) => ({ specifier })),
    ...sourceNames.map((specifier) => ({ specifier, conditions: [sourceCondition] })),
  ],
  { root },
)
const builtCosts = costs.slice(0, modules.length)
const sourceCosts = costs.slice(modules.length)
const rows = builtCosts.map((built, index): CostRow => {
  const name = modules[index] ?? 'node'
  const source = sourceCosts[sourceNames.indexOf(name)]
  return source === undefined ? { name, built } : { name, built, source }
})

if (process.argv.includes('--json')) {
  const lines = [
    ...counts.map(({ name, ...count }) => ({ house: name, ...count, ...rows.find((row) => row.name === name) })),
    ...rows.filter(({ name }) => !names.includes(name)).map(({ name, ...cost }) => ({ house: name, ...cost })),
  ]
  for (const line of lines) process.stdout.write(`${JSON.stringify(line)}\n`)
} else {
  process.stdout.write(`${houseText(counts, rows)}\n`)
}
for (const broken of counts.flatMap(brokenRulesOf)) {
  process.stderr.write(`${broken}\n`)
  process.exitCode = 1
}
