import { availableParallelism } from 'node:os'
import { defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'

// Tests run on the sources: the private export condition of each package points at src. Neither `import` nor `module`
// may be among these: Node gets them for require() too, and would hand CommonJS packages an ES module.
const conditions = ['@waybill/source', ...defaultServerConditions.filter((name) => name !== 'module')]

export default defineConfig({
  ssr: { resolve: { conditions } },
  // Where vitest itself runs the setup and the reporter: on a fresh clone there is nothing built for these either.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'bench/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['./test/support/src/global-setup.ts', './test/support/src/compile-cache.ts'],
    reporters: ['default', './test/support/src/closing-reporter.ts'],
    // Tests of real services wait more than they compute: two share a core well.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Engines say on standard error what goes wrong, and in most tests something does: it is shown where it was not meant to.
    silent: 'passed-only',
  },
})
