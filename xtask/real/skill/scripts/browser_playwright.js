// A library, which the first argument names, controls the browser of the system.
const { chromium } = require(process.argv[2]);

(async () => {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const page = await browser.newPage();
  await page.goto(`file://${process.cwd()}/page.html`);
  console.log(await page.textContent('#result'));
  await browser.close();
})();
