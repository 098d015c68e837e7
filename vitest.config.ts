import { availableParallelism } from 'node:os'
import { defaultServerConditions } from 'vite'
import { configDefaults, defineConfig } from 'vitest/config'

// Tests run on the sources: the private export condition of each package points at src. `import` and `module` must not be
// in this list: Node would apply them to require() as well, and load an ES module into CommonJS packages.
const conditions = ['@waybill/source', ...defaultServerConditions.filter((name) => name !== 'module')]

const never = configDefaults.exclude

export default defineConfig({
  ssr: { resolve: { conditions } },
  // Vitest's own environment runs the global setup and the reporter. A fresh clone has nothing built for them, either.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    // A project per kind of test. The suffix of a file decides its kind, then its folder; anything else is a unit test.
    // `npm test` runs the first three, `npm run check` runs all of them.
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/test/**/*.test.ts',
            'examples/*/test/**/*.test.ts',
            'bench/test/**/*.test.ts',
            'test/**/*.test.ts',
          ],
          exclude: [
            ...never,
            '**/*.{integration,conformance,smoke,simulation,browser}.test.ts',
            'test/{simulation,docs,publishing,guarantees}/**',
          ],
          // The files of a worker share their modules. Loading them again for each file took a quarter of a run.
          isolate: false,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{packages/*/test,examples/*/test,test}/**/*.{integration,conformance}.test.ts'],
          exclude: [...never],
          isolate: false,
        },
      },
      { test: { name: 'smoke', include: ['test/simulation/**/*.smoke.test.ts'], exclude: [...never] } },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts', 'packages/*/test/**/*.simulation.test.ts'],
          exclude: [...never, '**/*.smoke.test.ts'],
        },
      },
      {
        test: {
          name: 'browser',
          include: ['{packages/*/test,test/guarantees}/**/*.browser.test.ts'],
          exclude: [...never],
          globalSetup: ['./packages/admin/test/console/support/chromium.ts'],
          isolate: false,
        },
      },
      { test: { name: 'docs', include: ['test/docs/**/*.test.ts'], exclude: [...never], maxConcurrency: 2 } },
      { test: { name: 'publishing', include: ['test/publishing/**/*.test.ts'], exclude: [...never] } },
      {
        test: {
          name: 'guarantees',
          include: ['test/guarantees/**/*.test.ts'],
          exclude: [...never, '**/*.browser.test.ts'],
        },
      },
    ],
    globalSetup: ['./test/support/src/global-setup.ts', './test/support/src/compile-cache.ts'],
    reporters: ['default', './test/support/src/closing-reporter.ts'],
    // Tests of real services wait more than they compute: on two cores four workers need 3m43 where two need 6m04.
    maxWorkers: 2 * availableParallelism(),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Engines report faults on standard error, and most tests cause some: only failed tests print it.
    silent: 'passed-only',
  },
})
