/** `npm run sim -- NAME`: runs seeds of a simulation and says what they broke, what they reached and what they missed. */

import { parseCommandLine, UsageError, usage } from './runner/command-line.ts'
import { recordMutants } from './runner/record-mutants.ts'
import { type Output, runSimulation, traceSeed } from './runner/run-command.ts'
import { loadSimulation, simulationModules } from './simulations.ts'

const output: Output = {
  result: (text) => process.stdout.write(text),
  progress: (line) => process.stderr.write(`${line}\n`),
}

try {
  const command = parseCommandLine(process.argv.slice(2))
  const module = new Map(Object.entries(simulationModules)).get(command.name)
  if (module === undefined)
    throw new UsageError(`"${command.name}" is none of: ${Object.keys(simulationModules).join(', ')}.`)
  const run = command.records ? recordMutants : command.trace === null ? runSimulation : traceSeed
  process.exitCode = await run(await loadSimulation(module), command, output)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
