from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0022_channels'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='study',
            name='completion_code',
        ),
        migrations.RemoveField(
            model_name='study',
            name='completion_url',
        ),
        migrations.RemoveField(
            model_name='study',
            name='platform',
        ),
        migrations.RemoveField(
            model_name='study',
            name='returns',
        ),
        migrations.RemoveField(
            model_name='study',
            name='screen_out_url',
        ),
    ]
