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
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['./test/support/src/global-setup.ts'],
    reporters: ['default', './test/support/src/closing-reporter.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
